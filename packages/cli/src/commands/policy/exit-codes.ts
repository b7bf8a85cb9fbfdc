/** What the exit codes of a command mean that looks at a constitution. */
export const LOOKING = {
  done: "done",
  failed: "the file is not fine",
  usage: "wrong usage, or there is no such file",
} as const;

/** The same for one that holds it against the ledger. */
export const REPLAYING = { ...LOOKING, unreachable: "there is no ledger, or it cannot be read" } as const;
