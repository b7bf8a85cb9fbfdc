import { setTimeout as sleep } from "node:timers/promises";

/** Whether a promise settles within so many milliseconds. */
export async function within(settling: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const timer = new AbortController();
  const late = sleep(milliseconds, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([settling.then(() => true), late]);
  } finally {
    timer.abort();
  }
}
