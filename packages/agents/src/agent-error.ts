/** What went wrong with an agent. */
export type AgentErrorCode =
  /** No agent of that name. */
  | "unknown_agent"
  /** An entry that does not say what it must. */
  | "invalid_entry"
  /** Neither a version nor a tag. */
  | "invalid_version"
  /** Not made for this platform, or not able to run at all. */
  | "unsupported_agent"
  /** Not installed, or not completely. */
  | "agent_not_installed"
  /** npm failed, or the result does not run. */
  | "install_failed"
  /** Somebody called it off. */
  | "cancelled"
  /** It was started and did not answer as an agent does. */
  | "probe_failed"
  /** Its gate was not seen to be live, and only agents of which it was may run. */
  | "not_verified";

/** An error about an agent. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
