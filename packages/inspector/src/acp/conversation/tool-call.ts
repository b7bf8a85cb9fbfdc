import { type AcpToolCall, isObject, toolCallIn } from "@reins/acp";
import { contentText, type Verdict, verdictWith } from "./content.ts";

type ToolContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "diff"; readonly path: string; readonly before: string; readonly after: string }
  | { readonly kind: "terminal"; readonly id: string };

/** A tool call, merged from its updates. */
export interface ToolCall {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly content: readonly ToolContent[];
  readonly input: unknown;
  readonly output: unknown;
  readonly verdict: Verdict | undefined;
  /** When the first and the last update arrived, in milliseconds; absent for replayed updates. */
  readonly began: number | undefined;
  readonly ended: number | undefined;
}

const OVER: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Whether a call has ended. */
export function isOver({ status }: Pick<ToolCall, "status">): boolean {
  return OVER.has(status);
}

/** Merges an update into a call; members that the update lacks stay. An update without an id changes nothing. */
export function toolCallWith(
  known: ToolCall | undefined,
  update: unknown,
  at: number | undefined,
): ToolCall | undefined {
  const { toolCallId: id, title, name, status: said, content, rawInput, rawOutput } = toolCallIn(update);
  if (id === undefined) return known;
  const status = said ?? known?.status ?? "pending";
  return {
    id,
    title: title ?? known?.title ?? name ?? "Tool call",
    status,
    content: hasContent(update) ? content.flatMap(partOf) : (known?.content ?? []),
    input: rawInput ?? known?.input,
    output: rawOutput ?? known?.output,
    verdict: verdictWith(known?.verdict, update),
    began: known ? known.began : at,
    ended: isOver({ status }) ? (known?.ended ?? at) : undefined,
  };
}

/** Whether an update has content: an empty list replaces the content, an absent one keeps it. */
function hasContent(update: unknown): boolean {
  return isObject(update) && Array.isArray(update.content);
}

function partOf(part: AcpToolCall["content"][number]): readonly ToolContent[] {
  const { type, content, path, oldText: before = "", newText: after, terminalId: id } = part;
  if (type === "content") return [{ kind: "text", text: contentText(content) }];
  if (type === "terminal" && id !== undefined) return [{ kind: "terminal", id }];
  if (type !== "diff" || path === undefined || after === undefined) return [];
  return [{ kind: "diff", path, before, after }];
}
