import { CliError } from "../errors/cli-error.ts";
import { EXIT } from "../exit-codes.ts";

/** Another process runs agents in a home, and only those of its own. */
export function heldElsewhere(home: string, cause?: unknown): CliError {
  return new CliError(`Another process holds ${home}, and runs agents of its own.`, {
    next: "To run several at a time, start one Reins for all of them first: reins up",
    exitCode: EXIT.taken,
    ...(cause !== undefined && { cause }),
  });
}
