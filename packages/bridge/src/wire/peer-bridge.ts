import { CODE, type JsonObject, type Peer, RpcError } from "@reins/acp";
import { type Clock, systemClock } from "@reins/kit";
import {
  announcesHarnOnly,
  BridgeCallError,
  type BridgeMethod,
  type BridgePort,
  type HostNotification,
  isHostNotification,
  offersBridge,
} from "./bridge-port.ts";
import { HostPulse, withinDeadline } from "./host-pulse.ts";

/** The code by which a host rejects the call of a tool. */
const REJECTED = -32001;

type Listener = (params: JsonObject) => void;

type Offers = (sessionId: string, method: BridgeMethod) => boolean;

/** The connection that a bridge uses. */
type BridgePeer = Pick<Peer, "request" | "signal">;

/** The bridge of an agent over a JSON-RPC connection: ACP, or plain lines below it. */
export class PeerBridge implements BridgePort {
  readonly #peer: BridgePeer;
  readonly #clock: Pick<Clock, "now" | "after">;
  readonly #pulse: HostPulse;
  readonly #offers: Offers;
  readonly #listeners = new Map<string, Set<Listener>>();
  /** The capabilities of an ACP client; a host below ACP has none, and is asked. */
  capabilities: JsonObject | undefined;

  /** @param offers whether a client of a session offers a method, where that is known without asking */
  constructor(
    peer: BridgePeer,
    clock: Pick<Clock, "now" | "after"> = systemClock,
    offers: Offers = () => true,
  ) {
    this.#peer = peer;
    this.#offers = offers;
    this.#clock = clock;
    this.#pulse = new HostPulse(clock);
  }

  async call(
    sessionId: string,
    method: BridgeMethod,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    const isKnown = !this.capabilities || offersBridge(this.capabilities, method);
    if (!isKnown || !this.#offers(sessionId, method))
      throw new BridgeCallError("no_host", `the client does not offer "${method}"`);
    try {
      const ask = (asked: BridgeMethod) => (waiting: AbortSignal) =>
        this.#peer.request(asked, asked === method ? { ...params, sessionId } : { sessionId }, {
          signal: waiting,
        });
      // The call of a tool may take as long as the tool.
      if (method === "builtin_call") return await withinDeadline(method, signal, ask(method), this.#clock);
      const probe = announcesHarnOnly(this.capabilities) ? ask("host/capabilities") : undefined;
      return await this.#pulse.request(method, signal, ask(method), probe);
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
    this.#pulse.answered();
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
