import { watchForStop } from "./stop.ts";

/** Does something that Ctrl-C calls off. */
export async function untilStopped<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const off = new AbortController();
  const stop = watchForStop();
  void stop.requested.then(() => off.abort());
  try {
    return await work(off.signal);
  } finally {
    stop.dispose();
  }
}
