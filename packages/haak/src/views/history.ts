import { type JsonObject, membersOf } from "@reins/acp";
import { type LoggedEvent, TURN_ENDED } from "@reins/host";
import { canonicalJson } from "@reins/ledger";
import type { HaakEvent } from "../gateway/protocol.ts";
import { UpdateEvents } from "../gateway/turn-events.ts";
import type { HistoryRow } from "./views.ts";

interface Draft {
  readonly role: HistoryRow["role"];
  readonly parts: JsonObject[];
  readonly at: number;
}

/** Puts the messages of a session's log together to what was said and done in it, message by message and turn by turn. */
export class History {
  readonly rows: HistoryRow[] = [];
  readonly #session: string;
  readonly #updates: UpdateEvents;
  /** The messages of the turn that is being read. */
  #turn: Draft[] = [];

  constructor(session: string, entry: ConstructorParameters<typeof UpdateEvents>[0]) {
    this.#session = session;
    this.#updates = new UpdateEvents(entry);
  }

  /** Takes the next message of the log, of the session or of the ends of its turns. */
  take({ message, except, at }: Pick<LoggedEvent, "message" | "except" | "at">): void {
    const { turn } = membersOf(message.params);
    if (message.method === TURN_ENDED) this.#end(typeof turn === "string" ? turn : null);
    if (message.method !== "session/update") return;
    const update = membersOf(membersOf(message.params).update);
    if (update.sessionUpdate === "user_message_chunk") {
      if (except !== undefined) this.#asked(membersOf(update.content), at);
      return;
    }
    for (const event of this.#updates.take(update)) this.#happened(event, at);
  }

  /** Takes what has no end yet too. */
  finish(): readonly HistoryRow[] {
    this.#end(null);
    return this.rows;
  }

  /** What is asked after something was said begins a turn, also when the one before it never ended. */
  #asked(content: JsonObject, at: number): void {
    if (this.#turn.some(({ role }) => role === "assistant")) this.#end(null);
    this.#add("user", content.type === "text" ? { type: "text", text: content.text } : content, at);
  }

  #happened(event: HaakEvent, at: number): void {
    if (event.type === "text_delta") this.#say("text", event.text, at);
    if (event.type === "reasoning_delta") this.#say("thinking", event.text, at);
    if (event.type === "tool_call") {
      const { id, name, input } = event;
      this.#add("assistant", { type: "tool_use", id, name, input }, at);
    }
    if (event.type === "tool_result") {
      const { id: tool_use_id, content, is_error } = event;
      this.#add("user", { type: "tool_result", tool_use_id, content, is_error }, at);
    }
  }

  /** Adds to what is being said, piece by piece. */
  #say(type: "text" | "thinking", text: string, at: number): void {
    const last = this.#turn.at(-1);
    const part = last?.role === "assistant" ? last.parts.at(-1) : undefined;
    if (part?.type === type) part[type] = String(part[type]) + text;
    else this.#add("assistant", { type, [type]: text }, at);
  }

  #add(role: HistoryRow["role"], part: JsonObject, at: number): void {
    const last = this.#turn.at(-1);
    if (last?.role === role) last.parts.push(part);
    else this.#turn.push({ role, parts: [part], at });
  }

  #end(turn_id: string | null): void {
    for (const { role, parts, at } of this.#turn) {
      const seq = this.rows.length;
      const created_at = new Date(at).toISOString();
      const place = { id: `${this.#session}:${seq}`, session_id: this.#session, turn_id, seq };
      this.rows.push({ ...place, role, content: canonicalJson(parts), created_at });
    }
    this.#turn = [];
  }
}
