import { constants } from "node:os";
import { errorMessage } from "@reins/kit";
import { systemCode } from "../errors.ts";
import type { Log } from "../log.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const ENDS = ["end", "close", "error"] as const;

/** Why a stop was requested: a signal, or the end of the standard input. */
type StopReason = NodeJS.Signals | "end of input";

export interface Stop {
  readonly requested: Promise<StopReason>;
  dispose(): void;
}

interface StopOptions {
  /** Also requests a stop when it ends, as a pipe does with the process that holds its other end. */
  readonly input?: NodeJS.ReadStream | undefined;
}

/** Watches for Ctrl-C and termination signals. The first requests a stop; the second ends the process at once. */
export function watchForStop({ input }: StopOptions = {}): Stop {
  const { promise, resolve } = Promise.withResolvers<StopReason>();
  let asked = false;
  const take = (signal: NodeJS.Signals) => {
    if (asked) process.exit(128 + constants.signals[signal]);
    asked = true;
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, take);
  const end = () => resolve("end of input");
  for (const event of ENDS) input?.on(event, end);
  input?.resume();
  return {
    requested: promise,
    dispose: () => {
      for (const signal of SIGNALS) process.off(signal, take);
      for (const event of ENDS) input?.off(event, end);
      input?.pause();
    },
  };
}

/** Runs work that Ctrl-C cancels. */
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
 * Keeps a full disk from ending this process: logs an uncaught ENOSPC, such as of a log line, and continues. Other
 * uncaught errors still end it. Returns the undo function.
 */
export function surviveFullDisk(log: Pick<Log, "error">): () => void {
  const take = (error: unknown) => {
    if (!isFullDisk(error)) {
      console.error(error);
      process.exit(1);
    }
    log.error({ error: errorMessage(error) }, "the disk is full; free space to continue");
  };
  process.on("uncaughtException", take);
  return () => void process.off("uncaughtException", take);
}

function isFullDisk(error: unknown): boolean {
  if (FULL.has(systemCode(error) ?? "")) return true;
  return error instanceof Error && error.cause !== undefined && isFullDisk(error.cause);
}
