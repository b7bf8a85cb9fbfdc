/** What went wrong with a governed MCP server. */
export type McpErrorCode =
  /** The declaration is not one of a server that can be governed. */
  | "invalid_server"
  /** The gateway cannot listen where it was told to. */
  | "cannot_listen"
  /** The gateway has been closed. */
  | "closed";

/** An error of the MCP gateway; trying again does not help. */
export class McpError extends Error {
  override readonly name = "McpError";
  readonly code: McpErrorCode;
  readonly retryable = false;

  constructor(code: McpErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
