import { type AcpToolCall, isObject, type ReinsMeta, readUpdate, reinsMeta, toolCallIn } from "@reins/acp";
import type { FinishedPart, NoteTone } from "./state.ts";

/** Content of a tool call that is shown. */
export type ToolContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "diff"; readonly path: string; readonly before: string; readonly after: string };

/** A tool call, merged from its updates. */
export interface CallView {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly isOver: boolean;
  readonly content: readonly ToolContent[];
  readonly verdict: ToolVerdict | undefined;
  /** Whether it is known only because the agent asks for it. */
  readonly isAsked?: boolean;
}

/** What Reins decided about a call. */
type ToolVerdict = Pick<ReinsMeta, "rule" | "reason" | "enforcement" | "ungated" | "outcome"> & {
  readonly verdict: string;
};

const OVER: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Merges an update into a call; members that the update lacks stay. */
export function callViewWith(known: CallView | undefined, update: unknown): CallView | undefined {
  const { toolCallId: id, title, name, status: given, content } = toolCallIn(update);
  if (id === undefined) return known;
  const status = given ?? known?.status ?? "pending";
  const hasContent = isObject(update) && Array.isArray(update.content);
  return {
    id,
    title: title ?? known?.title ?? name ?? "tool call",
    status,
    isOver: OVER.has(status),
    content: hasContent ? content.flatMap(partOf) : (known?.content ?? []),
    verdict: verdictIn(update) ?? known?.verdict,
  };
}

function verdictIn(update: unknown): ToolVerdict | undefined {
  const { verdict, rule, reason, enforcement, ungated, outcome } = reinsMeta(update);
  return verdict === undefined ? undefined : { verdict, rule, reason, enforcement, ungated, outcome };
}

function partOf({ type, content, path, oldText, newText }: AcpToolCall["content"][number]): ToolContent[] {
  if (type === "diff" && path !== undefined && newText !== undefined)
    return [{ kind: "diff", path, before: oldText ?? "", after: newText }];
  if (type !== "content") return [];
  const { type: block, text, resource } = content;
  return [{ kind: "text", text: text ?? resource.text ?? `[${block ?? "unknown content"}]` }];
}

type Note = Extract<FinishedPart, { kind: "note" }>;

const TONES: Readonly<Record<string, NoteTone>> = { error: "bad", warning: "warn" };

/** The note about an update that is shown as one; undefined for other updates. */
export function noteOf(kind: string, update: unknown): Note | undefined {
  switch (kind) {
    case "notice": {
      const { severity = "", title, description } = readUpdate(kind, update);
      const text = [title, description].filter((part) => part !== undefined).join(": ");
      return note(text, Object.hasOwn(TONES, severity) ? TONES[severity] : "note");
    }
    case "compaction_update": {
      const { status, error } = readUpdate(kind, update);
      if (status === "completed") return note("The conversation was summarized to free context.");
      if (status !== "failed") return undefined;
      return note(`The conversation could not be summarized: ${String(error)}`, "bad");
    }
    case "worker_update": {
      const { workerName, status, metadata } = readUpdate(kind, update);
      const about = metadata.error ?? metadata.summary;
      const text = `${workerName ?? "a sub-agent"}: ${status ?? "?"}${about === undefined ? "" : `, ${about}`}`;
      return note(text, status === "failed" ? "bad" : "note");
    }
    case "tool_search_result": {
      const { promoted } = readUpdate(kind, update);
      return note(promoted.length === 0 ? "found no tools" : `found ${promoted.join(", ")}`);
    }
    default:
      return undefined;
  }
}

const ENDINGS: ReadonlyMap<string, string | undefined> = new Map([
  ["end_turn", undefined],
  ["cancelled", "Cancelled."],
  ["max_tokens", "The model's limit of tokens ended the turn."],
  ["max_turn_requests", "The limit of requests of a turn ended it."],
  ["refusal", "The agent refused."],
]);

/** The note about a turn that did not end as it should. */
export function endingOf(stopReason: string): Note | undefined {
  const text = ENDINGS.has(stopReason) ? ENDINGS.get(stopReason) : `The turn ended with: ${stopReason}`;
  return text === undefined ? undefined : note(text, "warn");
}

function note(text: string, tone: NoteTone = "note"): Note {
  return { kind: "note", tone, text };
}
