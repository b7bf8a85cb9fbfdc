import { EXIT, type ExitCode } from "../exit-codes.ts";

/** More about a {@link CliError}. */
export interface CliErrorOptions extends ErrorOptions {
  /** What the person can do about it. */
  readonly next: string;
  /** What the command ends with; a mistake of usage unless said otherwise. */
  readonly exitCode?: ExitCode;
}

/** Something a person can do something about: `message` says what happened, `next` what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly next: string;
  readonly exitCode: ExitCode;

  constructor(message: string, options: CliErrorOptions) {
    super(message, options);
    this.next = options.next;
    this.exitCode = options.exitCode ?? EXIT.usage;
  }
}
