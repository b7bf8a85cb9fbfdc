/** Faults that end nothing. */
export type FaultKind =
  /** The server sent what is no message. */
  | "malformed"
  /** The server sent more than the bound allows. */
  | "too_large"
  /** An answer to nothing that was asked, or a second one. */
  | "unmatched"
  /** The server ended, or could not be reached. */
  | "server_lost"
  /** A tool is not listed because of its name or definition. */
  | "tool_refused"
  /** A tool is described differently than before. */
  | "tool_changed"
  /** Something for the agent could not be delivered. */
  | "undelivered"
  /** The gate threw. */
  | "gate_failed";

/** One thing that was wrong. */
export interface Fault {
  readonly server: string;
  readonly kind: FaultKind;
  readonly text: string;
  readonly cause?: unknown;
}

/** Counts the faults of one server and notifies a listener. */
export class Faults {
  readonly #server: string;
  readonly #listener: ((fault: Fault) => void) | undefined;
  readonly #counts = new Map<FaultKind, number>();

  constructor(server: string, listener?: (fault: Fault) => void) {
    this.#server = server;
    this.#listener = listener;
  }

  /** Records a fault. */
  note(kind: FaultKind, text: string, cause?: unknown): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    this.#listener?.({ server: this.#server, kind, text, ...(cause !== undefined && { cause }) });
  }

  /** How many of each kind there were. */
  counts(): Partial<Record<FaultKind, number>> {
    return Object.fromEntries(this.#counts);
  }
}

/** What went wrong with a governed MCP server. */
export type McpErrorCode =
  /** The declaration is not one of a server that can be governed. */
  | "invalid_server"
  /** The gateway cannot listen on its socket or port. */
  | "cannot_listen"
  /** The gateway has been closed. */
  | "closed";

/** An error of the MCP gateway. */
export class McpError extends Error {
  override readonly name = "McpError";
  readonly code: McpErrorCode;

  constructor(code: McpErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
