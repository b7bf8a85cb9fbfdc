import { type JsonObject, membersOf } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { isFinal, type ToolCall, ToolCalls, toolNameOf } from "@reins/host";
import type { PlacedEntry } from "@reins/ledger";
import type { HaakEvent } from "./protocol.ts";

/** What the harness knows of a call, without secrets, where the agent has not told its clients of it. */
export type KnownCall = (id: string) => Pick<ToolCall, "told"> | undefined;

/** Turns the updates of one turn into events: a call is told once, and its result once, in whatever order agents say so. */
export class UpdateEvents {
  readonly #entry: Pick<AgentEntry, "toolNames">;
  readonly #known: KnownCall;
  readonly #calls = new ToolCalls();
  readonly #told = new Set<string>();

  constructor(entry: Pick<AgentEntry, "toolNames">, known: KnownCall = () => undefined) {
    this.#entry = entry;
    this.#known = known;
  }

  /** The events of an update; none for what has no place on `/ws`. */
  take(update: JsonObject): readonly HaakEvent[] {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return textEvents("text_delta", textOf(update.content));
      case "agent_thought_chunk":
        return textEvents("reasoning_delta", textOf(update.content));
      case "notice":
        return textEvents("reasoning_delta", remark([update.title, update.description]));
      case "compaction_update":
        return update.status === "completed"
          ? textEvents("reasoning_delta", remark(["The conversation was put into a summary to make room"]))
          : [];
      case "tool_call":
      case "tool_call_update":
        return this.call(update);
      case "usage_update": {
        const { sessionUpdate: _, ...usage } = update;
        return [{ ...usage, type: "usage_update" }];
      }
      default:
        return [];
    }
  }

  /** The events of something said about a call: in an update, or when permission for it is asked. */
  call(said: JsonObject): readonly HaakEvent[] {
    const call = this.#calls.tell(said);
    if (!call) return [];
    const isNew = !this.#told.has(call.id);
    this.#told.add(call.id);
    const events: HaakEvent[] = isNew ? [this.#begun(call)] : [];
    if (isFinal(call)) return this.#calls.conclude(call.id) ? [...events, resultOf(call)] : events;
    return isNew ? events : [...events, changeOf(call.id, said)];
  }

  /** An agent may ask permission for a call that it has told nobody of. */
  #begun({ id, told: said }: ToolCall): HaakEvent {
    const told = said.rawInput === undefined ? { ...this.#known(id)?.told, ...said } : said;
    const { name } = toolNameOf({ told }, this.#entry);
    return { type: "tool_call", id, name, input: told.rawInput ?? {} };
  }
}

function textEvents(type: "text_delta" | "reasoning_delta", text: string): readonly HaakEvent[] {
  return text === "" ? [] : [{ type, text }];
}

function remark(parts: readonly unknown[]): string {
  return `[${parts.filter((part) => typeof part === "string" && part !== "").join(": ")}]\n`;
}

/** A block of content in words; of what has none, what it is. */
function textOf(content: unknown): string {
  const { type, text, uri, mimeType, resource } = membersOf(content);
  if (typeof text === "string") return text;
  const place = uri ?? membersOf(resource).uri;
  if (typeof place === "string") return place;
  return type === undefined ? "" : `[${String(mimeType ?? type)}]`;
}

function changeOf(id: string, said: JsonObject): HaakEvent {
  const { status, title, rawInput, content } = said;
  return {
    type: "tool_call_update",
    id,
    ...(status != null && { status }),
    ...(title != null && { title }),
    ...(rawInput != null && { input: rawInput }),
    ...(Array.isArray(content) && { content: contentText(content) }),
  };
}

function resultOf({ id, told }: ToolCall): HaakEvent {
  return { type: "tool_result", id, content: outputOf(told), is_error: told.status === "failed" };
}

/** What came of a call: what the model is told where the agent says so, else what clients are shown. */
function outputOf({ rawOutput, content }: JsonObject): string {
  if (typeof rawOutput === "string") return rawOutput;
  const { text } = membersOf(rawOutput);
  if (typeof text === "string") return text;
  const shown = Array.isArray(content) ? contentText(content) : "";
  return shown === "" && rawOutput != null ? JSON.stringify(rawOutput) : shown;
}

function contentText(content: readonly unknown[]): string {
  return content
    .map(membersOf)
    .map((part) => (part.type === "diff" ? `[changed ${String(part.path)}]` : textOf(part.content)))
    .filter((text) => text !== "")
    .join("\n");
}

/** The events of an entry: what it says, where there is an event for that, and that it was added. */
export function ledgerEvents({ cid, quality, payload, target }: PlacedEntry["entry"]): readonly HaakEvent[] {
  const appended: HaakEvent = { type: "ledger_append", cid, quality };
  const said = membersOf(payload);
  if (quality === "mailbox_inject")
    return [
      {
        type: "mailbox_injected",
        message_id: String(said.message),
        from: String(said.from),
        subject: String(said.subject),
        timestamp: String(said.timestamp),
      },
      appended,
    ];
  if (quality !== "policy_verdict" || said.event_type !== "pre_action") return [appended];
  const { verdict, rule, reason, constitution_hash } = said;
  return [
    {
      type: "policy_gate",
      tool: target,
      verdict: String(verdict),
      rule: typeof rule === "string" ? rule : null,
      reason: String(reason),
      constitution_hash: typeof constitution_hash === "string" ? constitution_hash : null,
    },
    appended,
  ];
}
