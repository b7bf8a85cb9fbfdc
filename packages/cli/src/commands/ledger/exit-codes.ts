/** What the exit codes of a command mean that reads the ledger of a home. */
export const READING = {
  done: "done",
  failed: "failed, or the ledger is not the one seen before",
  usage: "wrong usage",
  unreachable: "there is no ledger, or it cannot be read",
} as const;

/** The same for a command that writes to it. */
export const WRITING = { ...READING, taken: "another process writes to it, most likely reins up" } as const;
