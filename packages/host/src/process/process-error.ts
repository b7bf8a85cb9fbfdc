/** What went wrong with an agent's process. */
export type ProcessErrorCode =
  /** Nothing can be started here: no such command, no such folder, or the machine refused. */
  | "not_started"
  /** Reins cannot look after processes on this operating system. */
  | "unsupported"
  /** The process has ended, or its input has been closed. */
  | "gone"
  /** A message is longer than a line may be. */
  | "too_large"
  /** The process does not read, and too much waits for it. */
  | "backed_up"
  /** What would end the processes if Reins died does not stay alive. */
  | "lifeline_lost"
  /** A private home, or a credential file, is not what it has to be. */
  | "unsafe_file";

const RETRYABLE: ReadonlySet<ProcessErrorCode> = new Set(["gone", "backed_up"]);

/** An error of an agent's process. */
export class ProcessError extends Error {
  override readonly name = "ProcessError";
  readonly code: ProcessErrorCode;
  /** Whether the same may succeed later, or with a new process. */
  readonly retryable: boolean;

  constructor(code: ProcessErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = RETRYABLE.has(code);
  }
}
