import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { type Wake, wakeOf } from "@reins/bridge";
import type { Principal } from "@reins/supervisor";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Hub } from "./hub.ts";

/** A message that a client sends beside prompts. */
type Message = Extract<Wake, { readonly kind: "message" }>;

/** The most messages of clients that wait for a session. */
const MOST_WAITING = 64;

/**
 * Messages that clients send beside prompts, to sessions that do not stay awake. Each is queued as a prompt of its client's
 * principal, decided like any other; its mode says whether the turn under way ends for it.
 */
export class ClientMessages {
  readonly #hub: Hub;
  /** How many messages of each session wait or are answered. */
  readonly #waiting = new Map<string, number>();

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Handles a notification that is such a message; returns whether it is. Does not wait for its turn. */
  takes(principal: Principal, session: SessionRecord, method: string, params: JsonObject): boolean {
    const message = wakeOf(method, params);
    if (message?.kind !== "message") return false;
    const waiting = this.#waiting.get(session.id) ?? 0;
    if (waiting >= MOST_WAITING)
      throw new RpcError(
        CODE.invalidRequest,
        "too many messages wait for the agent; send the next one later",
      );
    this.#waiting.set(session.id, waiting + 1);
    interruptFor(this.#hub, session.id, message).catch(this.#hub.onError);
    this.#prompt(principal, session, message.content)
      .catch(this.#hub.onError)
      .finally(() => this.#left(session.id));
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

  #left(id: string): void {
    const waiting = (this.#waiting.get(id) ?? 1) - 1;
    if (waiting > 0) this.#waiting.set(id, waiting);
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
