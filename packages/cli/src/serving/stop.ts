import { constants } from "node:os";

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
