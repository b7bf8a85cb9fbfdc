import type { Command } from "commander";

/** The flags that every command has which asks a Reins for something, as they were written. */
export interface OperatorFlags {
  readonly home?: string;
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

/** Declares the flags that say which Reins is meant, and `--json`. */
export function operatorFlags(command: Command, json = "print the answer as JSON"): Command {
  return command
    .option("--home <folder>", "the home folder")
    .option("--url <address>", "a Reins elsewhere, such as https://reins.example.com")
    .option("--token <secret>", "with --url: the token to show; @file reads it from a file")
    .option("--json", json);
}

/** What the exit codes of such a command mean. */
export const OPERATOR_CODES = {
  done: "done",
  failed: "refused or failed; the message says why",
  usage: "wrong usage",
  unreachable: "there is no Reins, it cannot be reached, or it does not let us in",
  taken: "another process holds the home and does not answer",
} as const;

/** The part of the help that says which Reins is asked. */
export const OPERATOR_HELP = `
Asks the Reins that runs on the home; where none runs, the home is opened for
this command. REINS_URL and REINS_TOKEN stand in for --url and --token.`;
