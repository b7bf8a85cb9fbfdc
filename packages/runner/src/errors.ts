/** What went wrong with an agent's process. */
export type ProcessErrorCode =
  /** Nothing can be started here: no such command, no such folder, or the machine refused. */
  | "not_started"
  /** Reins cannot look after processes on this operating system. */
  | "unsupported"
  /** What would end the processes if Reins died does not stay alive. */
  | "lifeline_lost"
  /** A private home, or a credential file, is not what it has to be. */
  | "unsafe_file"
  /** There is no program here that makes terminals. */
  | "no_terminal";

/** An error of an agent's process. */
export class ProcessError extends Error {
  override readonly name = "ProcessError";
  readonly code: ProcessErrorCode;

  constructor(code: ProcessErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Why an agent cannot be confined as asked. */
export type SandboxErrorCode =
  /** There is no working sandbox on this machine. */
  | "unavailable"
  /** Something that was to be shown is not there. */
  | "missing"
  /** A folder is not the one that was checked. */
  | "replaced"
  /** A folder would show what has to stay hidden. */
  | "too_wide"
  /** The command, its folder or a root would not be seen from inside. */
  | "hidden"
  /** Not the name of a host. */
  | "invalid_host";

/** An agent was to be confined and cannot be. It is not started; nothing is confined by halves. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;
  /** What a person can do about it. */
  readonly remedy: string;

  constructor(code: SandboxErrorCode, what: string, remedy: string, options?: ErrorOptions) {
    super(`${what} ${remedy}`, options);
    this.code = code;
    this.remedy = remedy;
  }
}
