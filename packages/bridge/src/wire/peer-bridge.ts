import { CODE, type JsonObject, type Peer, RpcError } from "@reins/acp";
import { type Clock, systemClock } from "@reins/kit";
import { BridgeCallError, type BridgePort } from "./bridge-port.ts";
import { offersBridge } from "./capability.ts";
import { withinDeadline } from "./deadline.ts";
import { type BridgeMethod, type HostNotification, isHostNotification } from "./methods.ts";

/** The code by which a host rejects the call of a tool. */
const REJECTED = -32001;

type Listener = (params: JsonObject) => void;

/** The connection that a bridge uses. */
type BridgePeer = Pick<Peer, "request" | "signal">;

/** The bridge of an agent over a JSON-RPC connection: ACP, or plain lines below it. */
export class PeerBridge implements BridgePort {
  readonly #peer: BridgePeer;
  readonly #clock: Pick<Clock, "after">;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The capabilities of an ACP client; a host below ACP has none, and is asked. */
  capabilities: JsonObject | undefined;

  constructor(peer: BridgePeer, clock: Pick<Clock, "after"> = systemClock) {
    this.#peer = peer;
    this.#clock = clock;
  }

  async call(
    sessionId: string,
    method: BridgeMethod,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (this.capabilities && !offersBridge(this.capabilities, method))
      throw new BridgeCallError("no_host", `the client does not offer "${method}"`);
    try {
      return await withinDeadline(
        method,
        signal,
        (waiting) => this.#peer.request(method, { ...params, sessionId }, { signal: waiting }),
        this.#clock,
      );
    } catch (error) {
      if (signal.aborted || error instanceof BridgeCallError) throw error;
      throw this.#faultOf(method, error);
    }
  }

  subscribe(sessionId: string, method: HostNotification, listener: Listener): () => void {
    const key = keyOf(sessionId, method);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  /** Delivers a notification of the host; returns whether it is one of the bridge. */
  receive(method: string, params: JsonObject): boolean {
    if (!isHostNotification(method)) return false;
    const { sessionId } = params;
    if (typeof sessionId === "string")
      for (const listener of this.#listeners.get(keyOf(sessionId, method)) ?? []) listener(params);
    return true;
  }

  #faultOf(method: string, error: unknown): BridgeCallError {
    const { code, message } = RpcError.of(error);
    if (this.#peer.signal.aborted)
      return new BridgeCallError("closed", `the connection closed before ${method} was answered`, {
        cause: error,
      });
    if (code === CODE.methodNotFound) return new BridgeCallError("no_host", message, { cause: error });
    if (code === REJECTED) return new BridgeCallError("rejected", message, { cause: error });
    return new BridgeCallError("failed", `host error (${code}): ${message}`, { cause: error });
  }
}

function keyOf(sessionId: string, method: HostNotification): string {
  return `${method} ${sessionId}`;
}
