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
  readonly retryable = false;
  /** What a person can do about it. */
  readonly remedy: string;

  constructor(code: SandboxErrorCode, what: string, remedy: string, options?: ErrorOptions) {
    super(`${what} ${remedy}`, options);
    this.code = code;
    this.remedy = remedy;
  }
}
