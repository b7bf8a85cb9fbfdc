import { type AcpToolCall, isObject, type ReinsMeta, reinsMeta, toolCallIn } from "@reins/acp";

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
