/** Why an operation on an agent failed. */
export type AgentErrorCode =
  /** No agent of that name. */
  | "unknown_agent"
  /** An invalid entry of the catalogue. */
  | "invalid_entry"
  /** Neither a version nor a tag. */
  | "invalid_version"
  /** Not made for this platform, or not able to run at all. */
  | "unsupported_agent"
  /** Not installed, or not completely. */
  | "agent_not_installed"
  /** npm failed, or the result does not run. */
  | "install_failed"
  /** Nothing is known that an archive could be checked by, and that is required. */
  | "unchecked"
  /** A registry, or what it names, could not be fetched, or may not be. */
  | "download_failed"
  /** It was cancelled. */
  | "cancelled"
  /** It was started and did not answer as an agent should. */
  | "probe_failed"
  /** Only verified agents may run, and this one is not. */
  | "not_verified"
  /** The settings of an agent cannot be read, or rule out what is asked for. */
  | "invalid_settings";

/** An error about an agent. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
