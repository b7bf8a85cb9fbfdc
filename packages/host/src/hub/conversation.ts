import { CODE, type JsonObject, membersOf, type RequestId, RpcError } from "@reins/acp";
import { askedFor } from "../control/verdict.ts";
import type { Connection } from "./connection.ts";

/** More requests than this are not under way for one client at once. */
const MOST_UNDER_WAY = 256;

/** The requests of one client: each is answered with the id it came with, and may be taken back. */
export class Conversation {
  readonly #connection: Connection;
  readonly #answering = new Map<RequestId, AbortController>();
  readonly #underWay = new Set<AbortController>();
  #gone: { readonly reason: unknown } | undefined;

  /** `gone` aborts when nobody waits for anything any more. */
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
    if (method !== "$/cancel_request") return this.#connection.notification(method, params);
    const { requestId } = membersOf(params);
    if (typeof requestId === "string" || typeof requestId === "number")
      this.#answering.get(requestId)?.abort(new RpcError(CODE.cancelled, "the request was taken back"));
  }
}

function failure(id: RequestId, error: unknown): JsonObject {
  return { jsonrpc: "2.0", id, error: RpcError.of(error).toWire() };
}
