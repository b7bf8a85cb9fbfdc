import { EXIT } from "./exit-codes.ts";

/** One run of the command line: how it was asked to speak, and what it came to. */
export interface Invocation {
  verbose: boolean;
  json: boolean;
  exitCode: number;
}

/** A run that has not begun. */
export function newInvocation(): Invocation {
  return { verbose: false, json: false, exitCode: EXIT.done };
}
