import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { MOST_MESSAGE_BYTES, type Wake, wakeOf } from "@reins/bridge";
import type { Principal } from "@reins/supervisor";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Hub } from "./hub.ts";

/** A message that a client sends beside prompts. */
type Message = Extract<Wake, { readonly kind: "message" }>;

/** The most messages of clients that wait for a session. */
const MOST_WAITING = 64;
const NONE_WAITING = { count: 0, bytes: 0 };

/**
 * Messages that clients send beside prompts, to sessions that do not stay awake. Each is queued as a prompt of its client's
 * principal, decided like any other; its mode says whether the turn under way ends for it.
 */
export class ClientMessages {
  readonly #hub: Hub;
  /** The messages of each session that wait or are answered: how many, and their bytes. */
  readonly #waiting = new Map<string, { readonly count: number; readonly bytes: number }>();

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Handles a notification that is such a message; returns whether it is. Does not wait for its turn. */
  takes(principal: Principal, session: SessionRecord, method: string, params: JsonObject): boolean {
    const message = wakeOf(method, params);
    if (message?.kind !== "message") return false;
    const { count, bytes } = this.#waiting.get(session.id) ?? NONE_WAITING;
    const size = Buffer.byteLength(message.content);
    if (count >= MOST_WAITING || bytes + size > MOST_MESSAGE_BYTES)
      throw new RpcError(
        CODE.invalidRequest,
        "too many messages wait for the agent; send the next one later",
      );
    this.#waiting.set(session.id, { count: count + 1, bytes: bytes + size });
    interruptFor(this.#hub, session.id, message).catch(this.#hub.onError);
    this.#prompt(principal, session, message.content)
      .catch(this.#hub.onError)
      .finally(() => this.#left(session.id, size));
    return true;
  }

  /** Prompts by a connection of its own, so that the sender follows the turn like every other client. */
  async #prompt(principal: Principal, { id, agent }: SessionRecord, text: string): Promise<void> {
    const connection = await this.#hub.connect({ principal, agent });
    try {
      const params = { sessionId: id, prompt: [{ type: "text", text }] };
      await connection.request("session/prompt", params, new AbortController().signal);
    } finally {
      this.#hub.disconnect(connection);
    }
  }

  #left(id: string, size: number): void {
    const { count, bytes } = this.#waiting.get(id) ?? NONE_WAITING;
    if (count > 1) this.#waiting.set(id, { count: count - 1, bytes: bytes - size });
    else this.#waiting.delete(id);
  }
}

/**
 * Ends the turn under way for a message, as its mode says: at once, when the tool call under way is over (or at once
 * between two calls), or not at all. Where there is no turn, nothing is ended.
 */
export async function interruptFor(
  hub: Pick<Hub, "live">,
  session: string,
  { delivery }: Message,
): Promise<void> {
  const governor = hub.live(session)?.agent?.governor;
  const governed = governor?.session(session);
  const turn = governed?.turn;
  if (delivery === "wait_for_completion" || !turn) return;
  if (delivery === "finish_step" && governed.hasToolCalls)
    await Promise.race([governed.toolCalls.settled(), governed.turnOver]);
  // Another turn may have begun meanwhile.
  if (governed.turn === turn) await governor?.notification("session/cancel", { sessionId: session });
}
