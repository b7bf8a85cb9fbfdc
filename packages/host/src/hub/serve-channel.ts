import {
  CANCEL_REQUEST,
  type Channel,
  CODE,
  classify,
  type JsonObject,
  type RequestId,
  RpcError,
  readParams,
} from "@reins/acp";
import type { Principal } from "@reins/supervisor";
import { askedFor } from "../control/verdict.ts";
import type { Connection } from "./connection.ts";
import type { Hub } from "./hub.ts";

/** More requests than this are not under way for one client at once. */
const MOST_UNDER_WAY = 256;

/** The requests of one client: each is answered with the id it came with, and may be taken back. */
export class Conversation {
  readonly #connection: Connection;
  readonly #answering = new Map<RequestId, AbortController>();
  readonly #underWay = new Set<AbortController>();
  #gone: { readonly reason: unknown } | undefined;

  /** `gone` aborts when the client is gone. */
  constructor(connection: Connection, gone: AbortSignal) {
    this.#connection = connection;
    const end = () => {
      this.#gone = gone;
      for (const controller of this.#underWay) controller.abort(gone.reason);
    };
    if (gone.aborted) end();
    else gone.addEventListener("abort", end, { once: true });
  }

  /** How many requests have no answer yet. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** How often people were asked before a request could be answered, and whether they are now. */
  askedFor(id: RequestId): ReturnType<typeof askedFor> {
    const { signal } = this.#answering.get(id) ?? {};
    return signal ? askedFor(signal) : { times: 0, isOpen: false };
  }

  /** Answers a request. Never rejects: what goes wrong is the answer. */
  async ask(id: RequestId, method: string, params: unknown): Promise<JsonObject> {
    if (this.#underWay.size >= MOST_UNDER_WAY)
      return failure(
        id,
        new RpcError(CODE.invalidRequest, `${MOST_UNDER_WAY} requests are under way already`),
      );
    const controller = new AbortController();
    this.#answering.set(id, controller);
    this.#underWay.add(controller);
    if (this.#gone) controller.abort(this.#gone.reason);
    try {
      const result = await this.#connection.request(method, params, controller.signal, id);
      return { jsonrpc: "2.0", id, result: result ?? null };
    } catch (error) {
      return failure(id, error);
    } finally {
      this.#underWay.delete(controller);
      if (this.#answering.get(id) === controller) this.#answering.delete(id);
    }
  }

  /** Takes a notification. Rejects when nothing can be done with it. */
  async notify(method: string, params: unknown): Promise<void> {
    if (method !== CANCEL_REQUEST) return this.#connection.notification(method, params);
    const { requestId } = readParams(CANCEL_REQUEST, params);
    if (requestId !== undefined)
      this.#answering.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was taken back"));
  }
}

function failure(id: RequestId, error: unknown): JsonObject {
  return { jsonrpc: "2.0", id, error: RpcError.of(error).toWire() };
}

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
  const conversation = new Conversation(connection, gone.signal);
  const answer = (message: JsonObject) => channel.send(message).catch(() => undefined);
  channel.onMessage((message) => takeMessage({ connection, conversation, answer }, message));
  const reason = await Promise.race([channel.closed, aborted(gone.signal)]);
  gone.abort(reason);
  hub.disconnect(connection);
}

/** A client that is spoken with both ways. */
interface Spoken {
  readonly connection: Connection;
  readonly conversation: Conversation;
  /** Sends an answer to the client. Never rejects. */
  readonly answer: (message: JsonObject) => Promise<void>;
}

/** Takes a message of a client; the next may come when the promise settles. */
export function takeMessage(
  { connection, conversation, answer }: Spoken,
  message: JsonObject,
): void | Promise<void> {
  const sorted = classify(message);
  switch (sorted.kind) {
    case "request":
      // Not waited for: a prompt may last, and its client may have to answer a question meanwhile.
      void conversation.ask(sorted.id, sorted.method, sorted.params).then(answer);
      return;
    case "notification":
      // A notification has no response for an error.
      return conversation.notify(sorted.method, sorted.params).catch(() => undefined);
    case "result":
      connection.take(sorted.id, sorted.result);
      return;
    case "error":
      connection.fail(sorted.id, sorted.error);
      return;
    case "malformed":
      return answer({
        jsonrpc: "2.0",
        id: sorted.id,
        error: new RpcError(CODE.invalidRequest, sorted.reason).toWire(),
      });
  }
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true }),
  );
}
