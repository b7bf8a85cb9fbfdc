import {
  type AcpToolCall,
  isObject,
  metaOf,
  type ReinsMeta,
  readContent,
  reinsMeta,
  toolCallIn,
} from "@reins/acp";

/** What Reins says in `_meta.reins` about an action, or about a message of its own. */
export type Annotation = ReinsMeta;

/** An annotation with a verdict. */
export type Verdict = Partial<Annotation> & { readonly verdict: string };

const UNKNOWN = "[unknown content]";

/** A content block as text. Nothing is loaded: an image is named, not drawn. */
export function contentText(block: unknown): string {
  const { type, text, uri, name, mimeType, resource } = readContent(block);
  switch (type) {
    case "text":
      return text ?? UNKNOWN;
    case "resource_link":
      return uri === undefined ? UNKNOWN : `[${name ?? uri}]`;
    case "resource":
      return resource.text ?? (resource.uri === undefined ? UNKNOWN : `[${resource.uri}]`);
    case "image":
    case "audio":
      return `[${type} (${mimeType ?? "unknown type"})]`;
    default:
      return UNKNOWN;
  }
}

/** Reads the annotation of a message; `undefined` if there is none. */
export function annotationIn(message: unknown): Annotation | undefined {
  return metaOf(message).reins === undefined ? undefined : reinsMeta(message);
}

/** Adds the annotation of a message to a verdict, such as that an allowed call was interrupted. */
export function verdictWith(known: Verdict | undefined, message: unknown): Verdict | undefined {
  const said = annotationIn(message);
  const verdict = said?.verdict ?? known?.verdict;
  return said && verdict !== undefined ? { ...known, ...said, verdict } : known;
}

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
