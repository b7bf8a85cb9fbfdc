/** What went wrong with an agent's process. */
export type ProcessErrorCode =
  /** Nothing can be started here: no such command, no such folder, or the machine refused. */
  | "not_started"
  /** Reins cannot look after processes on this operating system. */
  | "unsupported"
  /** What would end the processes if Reins died does not stay alive. */
  | "lifeline_lost"
  /** A private home, or a credential file, is not what it has to be. */
  | "unsafe_file";

/** An error of an agent's process. */
export class ProcessError extends Error {
  override readonly name = "ProcessError";
  readonly code: ProcessErrorCode;

  constructor(code: ProcessErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
