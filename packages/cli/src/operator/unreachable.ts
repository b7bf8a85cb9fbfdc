import { CliError } from "../errors/cli-error.ts";
import { EXIT } from "../exit-codes.ts";

/** A Reins that cannot be reached, or no longer; it may be there again later. */
export class Unreachable extends CliError {
  constructor(message: string, next: string, cause?: unknown) {
    super(message, { next, exitCode: EXIT.unreachable, ...(cause !== undefined && { cause }) });
  }
}
