import { chunkText, type JsonObject, membersOf } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { isFinal, isPreparationRecord, type ToolCall, ToolCalls, toolNameOf } from "@reins/host";
import type { PlacedEntry } from "@reins/ledger";
import type { HaakEvent } from "./protocol.ts";

/** Returns what the harness knows of a tool call, without secrets, for a call that the agent has not announced. */
export type KnownCall = (id: string) => Pick<ToolCall, "reported"> | undefined;

/** Maps the ACP updates of one turn to events: each call and each result once, in any order of updates. */
export class UpdateEvents {
  readonly #entry: Pick<AgentEntry, "toolNames">;
  readonly #known: KnownCall;
  readonly #calls = new ToolCalls();
  readonly #announced = new Set<string>();

  constructor(entry: Pick<AgentEntry, "toolNames">, known: KnownCall = () => undefined) {
    this.#entry = entry;
    this.#known = known;
  }

  /** The events of an update; none for a kind that `/ws` does not have. */
  ofUpdate(update: JsonObject): readonly HaakEvent[] {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return textEvents("text_delta", blockText(update.content));
      case "agent_thought_chunk":
        return textEvents("reasoning_delta", blockText(update.content));
      case "notice":
        return textEvents("reasoning_delta", remark([update.title, update.description]));
      case "compaction_update":
        return update.status === "completed"
          ? textEvents("reasoning_delta", remark(["The conversation was put into a summary to make room"]))
          : [];
      case "tool_call":
      case "tool_call_update":
        return this.ofToolCall(update);
      case "usage_update": {
        const { sessionUpdate: _, ...usage } = update;
        return [{ ...usage, type: "usage_update" }];
      }
      default:
        return [];
    }
  }

  /** The events of a tool call in an update or in a permission request. */
  ofToolCall(update: JsonObject): readonly HaakEvent[] {
    const call = this.#calls.note(update);
    if (!call) return [];
    const isNew = !this.#announced.has(call.id);
    this.#announced.add(call.id);
    const events: HaakEvent[] = isNew ? [this.#callEvent(call)] : [];
    if (isFinal(call)) return this.#calls.conclude(call.id) ? [...events, resultEvent(call)] : events;
    return isNew ? events : [...events, changeEvent(call.id, update)];
  }

  /** A permission request may describe a call without its input. */
  #callEvent({ id, reported: described }: ToolCall): HaakEvent {
    const reported =
      described.rawInput === undefined ? { ...this.#known(id)?.reported, ...described } : described;
    const { name } = toolNameOf({ reported }, this.#entry);
    return { type: "tool_call", id, name, input: reported.rawInput ?? {} };
  }
}

function textEvents(type: "text_delta" | "reasoning_delta", text: string): readonly HaakEvent[] {
  return text === "" ? [] : [{ type, text }];
}

function remark(parts: readonly unknown[]): string {
  return `[${parts.filter((part) => typeof part === "string" && part !== "").join(": ")}]\n`;
}

/** The text of a content block, or its address, or its type. */
function blockText(content: unknown): string {
  const text = chunkText({ content });
  if (text !== undefined) return text;
  const { type, uri, mimeType, resource } = membersOf(content);
  const address = uri ?? membersOf(resource).uri;
  if (typeof address === "string") return address;
  return type === undefined ? "" : `[${String(mimeType ?? type)}]`;
}

function changeEvent(id: string, { status, title, rawInput, content }: JsonObject): HaakEvent {
  return {
    type: "tool_call_update",
    id,
    ...(status != null && { status }),
    ...(title != null && { title }),
    ...(rawInput != null && { input: rawInput }),
    ...(Array.isArray(content) && { content: contentText(content) }),
  };
}

function resultEvent({ id, reported }: ToolCall): HaakEvent {
  return { type: "tool_result", id, content: outputText(reported), is_error: reported.status === "failed" };
}

/** The output for the model if the agent sends it, otherwise the content for clients. */
function outputText({ rawOutput, content }: JsonObject): string {
  if (typeof rawOutput === "string") return rawOutput;
  const text = chunkText({ content: rawOutput });
  if (text !== undefined) return text;
  const shown = Array.isArray(content) ? contentText(content) : "";
  return shown === "" && rawOutput != null ? JSON.stringify(rawOutput) : shown;
}

function contentText(content: readonly unknown[]): string {
  return content
    .map(membersOf)
    .map((part) => (part.type === "diff" ? `[changed ${String(part.path)}]` : blockText(part.content)))
    .filter((text) => text !== "")
    .join("\n");
}

/** The events of a ledger entry: what it records, if there is an event for that, and that it was appended. */
export function ledgerEvents({ cid, quality, payload, target }: PlacedEntry["entry"]): readonly HaakEvent[] {
  const appended: HaakEvent = { type: "ledger_append", cid, quality };
  const recorded = membersOf(payload);
  if (quality === "mailbox_inject")
    return [
      {
        type: "mailbox_injected",
        message_id: String(recorded.message),
        from: String(recorded.from),
        subject: String(recorded.subject),
        timestamp: String(recorded.timestamp),
      },
      appended,
    ];
  if (quality !== "policy_verdict" || recorded.event_type !== "pre_action") return [appended];
  // A gate is about a tool that the model uses, not about what its agent reads beforehand.
  if (isPreparationRecord(payload)) return [appended];
  const { verdict, rule, reason, constitution_hash } = recorded;
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
