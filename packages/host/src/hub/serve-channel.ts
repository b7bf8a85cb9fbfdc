import type { Principal } from "@reins/supervisor";
import type { Channel } from "../acp/channel.ts";
import { type JsonObject, membersOf, type RequestId, sort } from "../acp/message.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { Connection } from "./connection.ts";
import type { Hub } from "./hub.ts";

/** Who is served over a channel. */
export interface ServedClient {
  readonly channel: Channel;
  readonly principal: Principal;
  /** The agent of sessions that name none. */
  readonly agent?: string | undefined;
  readonly id?: string | undefined;
}

/** Serves a client over a channel that goes both ways, until it has gone. */
export async function serveChannel(hub: Hub, { channel, principal, agent, id }: ServedClient): Promise<void> {
  const gone = new AbortController();
  const outlet = {
    send: (message: JsonObject) => channel.send(message).catch(() => undefined),
    failed: (error: unknown) => gone.abort(error),
  };
  const connection = await hub.connect({ principal, agent, id, outlet });
  const served = new ServedChannel(channel, connection, gone.signal);
  channel.onMessage((message) => served.take(message));
  const reason = await Promise.race([channel.closed, aborted(gone.signal)]);
  gone.abort(reason);
  hub.disconnect(connection);
}

class ServedChannel {
  readonly #channel: Channel;
  readonly #connection: Connection;
  readonly #gone: AbortSignal;
  readonly #answering = new Map<RequestId, AbortController>();

  constructor(channel: Channel, connection: Connection, gone: AbortSignal) {
    this.#channel = channel;
    this.#connection = connection;
    this.#gone = gone;
  }

  take(message: JsonObject): void | Promise<void> {
    const sorted = sort(message);
    switch (sorted.kind) {
      case "request":
        // Not waited for: a prompt may last, and whoever made it may have to answer something meanwhile.
        void this.#answer(sorted.id, sorted.method, sorted.params);
        return;
      case "notification":
        return this.#notify(sorted.method, sorted.params);
      case "result":
        this.#connection.answer(sorted.id, sorted.result);
        return;
      case "error":
        this.#connection.fail(sorted.id, sorted.error);
        return;
      case "malformed":
        return this.#send({
          id: sorted.id,
          error: new RpcError(CODE.invalidRequest, sorted.reason).toWire(),
        });
    }
  }

  async #answer(id: RequestId, method: string, params: unknown): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    try {
      const signal = AbortSignal.any([controller.signal, this.#gone]);
      const result = await this.#connection.request(method, params, signal);
      await this.#send({ id, result: result ?? null });
    } catch (error) {
      await this.#send({ id, error: RpcError.of(error).toWire() });
    } finally {
      if (this.#answering.get(id) === controller) this.#answering.delete(id);
    }
  }

  async #notify(method: string, params: unknown): Promise<void> {
    if (method === "$/cancel_request") {
      const { requestId } = membersOf(params);
      if (typeof requestId === "string" || typeof requestId === "number")
        this.#answering.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was taken back"));
      return;
    }
    // Nobody can be told what is wrong with a notification.
    await this.#connection.notification(method, params).catch(() => undefined);
  }

  #send(message: JsonObject): Promise<void> {
    return this.#channel.send({ jsonrpc: "2.0", ...message }).catch(() => undefined);
  }
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true }),
  );
}
