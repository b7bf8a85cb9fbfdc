import type { JsonObject } from "@reins/acp";
import type { BridgeMethod, HostNotification } from "./methods.ts";

/** How an agent reaches the host of a session: the client that announced the bridge. */
export interface BridgePort {
  /**
   * Sends a request to the host and returns its result as received. Rejects with a {@link BridgeCallError} when the host
   * fails, and with the reason of the signal when that aborts.
   */
  call(sessionId: string, method: BridgeMethod, params: JsonObject, signal: AbortSignal): Promise<unknown>;
  /** Calls a listener for each notification of the session's host until the returned function is called. */
  subscribe(sessionId: string, method: HostNotification, listener: (params: JsonObject) => void): () => void;
}

/** Why a request to a host failed. */
export type BridgeFault =
  /** No client of the session offers the bridge, or the host does not know the method. */
  | "no_host"
  /** The host refused to run the tool (-32001). */
  | "rejected"
  /** The host answered with another error. */
  | "failed"
  /** The host did not answer before the deadline of the method. */
  | "timeout"
  /** The connection closed before the host answered. */
  | "closed";

/** A failed request to a host. */
export class BridgeCallError extends Error {
  override readonly name = "BridgeCallError";
  readonly code: BridgeFault;

  constructor(code: BridgeFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
