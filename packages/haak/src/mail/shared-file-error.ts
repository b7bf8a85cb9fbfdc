/** What went wrong with a file that others write to as well. */
export type SharedFileErrorCode =
  /** What was to be written is not what it has to be. */
  | "invalid"
  /** What was to be written is longer than it may be. */
  | "too_large"
  /** The file is as large as it may become. */
  | "full"
  /** There is something else than a plain file in its place, or one that cannot be opened. */
  | "unsafe_file"
  /** The disk did not take it, or others took it away again. */
  | "not_written";

/** An error of the mailbox or the board. */
export class SharedFileError extends Error {
  override readonly name = "SharedFileError";
  readonly code: SharedFileErrorCode;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(code: SharedFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = code === "not_written";
  }
}
