import { constants } from "node:os";
import { errorMessage, systemCode } from "../errors.ts";
import type { Log } from "../log.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The moment at which a person or the system wants the server to end. */
export interface Stop {
  /** Settles with the first signal. */
  readonly requested: Promise<NodeJS.Signals>;
  /** Leaves signals to whoever comes next. */
  dispose(): void;
}

/** Waits for Ctrl-C and its like. The first asks for an end; the second ends the process at once. */
export function watchForStop(): Stop {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let asked = false;
  const take = (signal: NodeJS.Signals) => {
    if (asked) process.exit(128 + constants.signals[signal]);
    asked = true;
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, take);
  return {
    requested: promise,
    dispose: () => {
      for (const signal of SIGNALS) process.off(signal, take);
    },
  };
}

/** Does something that Ctrl-C calls off. */
export async function withStopSignal<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const off = new AbortController();
  const stop = watchForStop();
  void stop.requested.then(() => off.abort());
  try {
    return await work(off.signal);
  } finally {
    stop.dispose();
  }
}

const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Keeps a full disk from ending this process: what nobody else answers for, such as a line of the log that found no room,
 * is told and given up. Anything else that nobody caught ends it, as ever. The returned function ends that.
 */
export function surviveFullDisk(log: Pick<Log, "error">): () => void {
  const take = (error: unknown) => {
    if (!isFullDisk(error)) {
      console.error(error);
      process.exit(1);
    }
    log.error({ error: errorMessage(error) }, "there is no room on the disk; make room, and it goes on");
  };
  process.on("uncaughtException", take);
  return () => void process.off("uncaughtException", take);
}

/** Whether an error, or what caused it, says that there is no room on the disk. */
function isFullDisk(error: unknown): boolean {
  if (FULL.has(systemCode(error) ?? "")) return true;
  return error instanceof Error && error.cause !== undefined && isFullDisk(error.cause);
}
