import { type JsonObject, membersOf, updateIn } from "@reins/acp";
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

/** Builds the rows of a session's history from its event log. */
export class SessionHistory {
  readonly rows: HistoryRow[] = [];
  readonly #session: string;
  readonly #updates: UpdateEvents;
  /** The messages of the current turn. */
  #turn: Draft[] = [];

  constructor(session: string, entry: ConstructorParameters<typeof UpdateEvents>[0]) {
    this.#session = session;
    this.#updates = new UpdateEvents(entry);
  }

  /** Adds the next event of the session or of its turn marks. */
  add({ message, except, at }: Pick<LoggedEvent, "message" | "except" | "at">): void {
    const { turn } = membersOf(message.params);
    if (message.method === TURN_ENDED) this.#end(typeof turn === "string" ? turn : null);
    if (message.method !== "session/update") return;
    const { kind, update } = updateIn(message.params);
    if (kind === "user_message_chunk") {
      if (except !== undefined) this.#addPrompt(membersOf(update.content), at);
      return;
    }
    for (const event of this.#updates.ofUpdate(update)) this.#addEvent(event, at);
  }

  /** Adds the turn that has not ended. */
  finish(): readonly HistoryRow[] {
    this.#end(null);
    return this.rows;
  }

  /** A prompt after a reply begins a turn, even if the one before has no end mark. */
  #addPrompt(content: JsonObject, at: number): void {
    if (this.#turn.some(({ role }) => role === "assistant")) this.#end(null);
    this.#push("user", content.type === "text" ? { type: "text", text: content.text } : content, at);
  }

  #addEvent(event: HaakEvent, at: number): void {
    if (event.type === "text_delta") this.#append("text", event.text, at);
    if (event.type === "reasoning_delta") this.#append("thinking", event.text, at);
    if (event.type === "tool_call") {
      const { id, name, input } = event;
      this.#push("assistant", { type: "tool_use", id, name, input }, at);
    }
    if (event.type === "tool_result") {
      const { id: tool_use_id, content, is_error } = event;
      this.#push("user", { type: "tool_result", tool_use_id, content, is_error }, at);
    }
  }

  /** Appends to the last block of the same type. */
  #append(type: "text" | "thinking", text: string, at: number): void {
    const last = this.#turn.at(-1);
    const part = last?.role === "assistant" ? last.parts.at(-1) : undefined;
    if (part?.type === type) part[type] = String(part[type]) + text;
    else this.#push("assistant", { type, [type]: text }, at);
  }

  #push(role: HistoryRow["role"], part: JsonObject, at: number): void {
    const last = this.#turn.at(-1);
    if (last?.role === role) last.parts.push(part);
    else this.#turn.push({ role, parts: [part], at });
  }

  #end(turn_id: string | null): void {
    for (const { role, parts, at } of this.#turn) {
      const seq = this.rows.length;
      const created_at = new Date(at).toISOString();
      const row = { id: `${this.#session}:${seq}`, session_id: this.#session, turn_id, seq };
      this.rows.push({ ...row, role, content: canonicalJson(parts), created_at });
    }
    this.#turn = [];
  }
}
