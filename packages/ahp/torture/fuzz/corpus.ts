import type { Random } from "../../../../scripts/torture/random.ts";
import { EventType, isBlocking } from "../../src/index.ts";
import { eventOf, handshakeOf } from "../../test/messages.ts";
import { readVectors } from "../../test/vectors.ts";
import type { FuzzMessage } from "./message.ts";

const VECTORS = readVectors().servers.map((vector) => vector.in);
const BATCHED = ["pre_action", "post_action", "task_list", "verification"] as const;

/** Makes messages as an agent would send them, each with an id of its own. */
export class Corpus {
  readonly #random: Random;
  readonly #name: string;
  #made = 0;

  constructor(random: Random, name: string) {
    this.#random = random;
    this.#name = name;
  }

  /** A sound request, notification or recorded message. */
  next(): FuzzMessage {
    const random = this.#random;
    switch (random.int(8)) {
      case 0:
        return message("recorded message", random.pick(VECTORS));
      case 1:
        return this.#notification();
      case 2:
        return this.#request("ahp/handshake", handshakeOf());
      case 3:
        return this.#request("ahp/query", {
          session_id: "s",
          agent_id: "a",
          query_type: "q",
          payload: this.#payload(),
        });
      case 4:
        return this.#request("ahp/batch", { events: this.#events() });
      default:
        return this.#request("ahp/event", this.#blockingEvent());
    }
  }

  /** A request that is answered with an allow that carries its id. */
  sentinel(): FuzzMessage {
    const id = this.#id();
    return this.#request("ahp/event", eventOf("pre_action", { payload: { nonce: id } }), id);
  }

  #request(method: string, params: unknown, id = this.#id()): FuzzMessage {
    return { ...message(method, JSON.stringify({ jsonrpc: "2.0", id, method, params })), id };
  }

  #notification(): FuzzMessage {
    const type = this.#random.pick(EventType.options.filter((option) => !isBlocking(option)));
    return message(
      "notification",
      JSON.stringify({ jsonrpc: "2.0", method: "ahp/event", params: eventOf(type) }),
    );
  }

  #blockingEvent() {
    const type = this.#random.pick(EventType.options.filter(isBlocking));
    const session_stats = { total_actions: 3, total_tokens: 70, duration_ms: 5, error_count: 0 };
    const context = { session_stats, current_task: "test" };
    const event = eventOf(type, this.#random.chance(0.3) ? { context, metadata: { trace: "é€𝄞" } } : {});
    return type === "pre_action" || type === "pre_prompt" ? { ...event, payload: this.#payload() } : event;
  }

  #events() {
    return Array.from({ length: this.#random.int(5) }, () => eventOf(this.#random.pick(BATCHED)));
  }

  #payload(): unknown {
    const random = this.#random;
    return random.pick<unknown>([
      {},
      null,
      "text",
      [1, 2.5, -3e10, "ä\n\u2028", { deep: [[[null]]] }],
      {
        nonce: random.string(8),
        tool_name: "bash",
        arguments: { command: 'echo "hello" \\ ', flags: [true, false] },
      },
      { fail: true },
      { text: random.string(random.int(400)), __proto: 1, constructor: { prototype: 2 } },
    ]);
  }

  #id(): string {
    this.#made += 1;
    return `${this.#name}-${this.#made}`;
  }
}

function message(origin: string, text: string): FuzzMessage {
  return { bytes: Buffer.from(text), origin };
}
