import { z } from "zod";
import { annotationIn, contentText, parseContent, type Verdict, verdictIn } from "./content.ts";

/** A part of the output of a tool call. */
type ToolContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "diff"; readonly path: string; readonly before: string; readonly after: string }
  | { readonly kind: "terminal"; readonly id: string };

/** A tool call, merged from its updates. */
export interface ToolCall {
  readonly id: string;
  readonly title: string;
  readonly name: string | undefined;
  readonly kind: string | undefined;
  readonly status: string;
  readonly content: readonly ToolContent[];
  readonly paths: readonly string[];
  readonly input: unknown;
  readonly output: unknown;
  readonly verdict: Verdict | undefined;
  /** When the first and the last update arrived, in milliseconds; absent for replayed updates. */
  readonly began: number | undefined;
  readonly ended: number | undefined;
}

const text = z.string().nullish();
const ToolCallUpdate = z.looseObject({
  toolCallId: z.string(),
  title: text,
  name: text,
  kind: text,
  status: text,
  content: z.array(z.unknown()).nullish(),
  locations: z.array(z.unknown()).nullish(),
});

const Part = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("content"), content: z.unknown() }),
  z.looseObject({
    type: z.literal("diff"),
    path: z.string(),
    oldText: z.string().nullish(),
    newText: z.string(),
  }),
  z.looseObject({ type: z.literal("terminal"), terminalId: z.string() }),
]);
const Located = z.looseObject({ path: z.string() });

const OVER: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Whether a call has ended. */
export function isOver({ status }: Pick<ToolCall, "status">): boolean {
  return OVER.has(status);
}

/** The id of the call that an update is about. */
export function toolCallIdIn(update: unknown): string | undefined {
  const read = ToolCallUpdate.safeParse(update);
  return read.success ? read.data.toolCallId : undefined;
}

/** Merges an update into a call; members that the update lacks stay. */
export function toolCallWith(
  known: ToolCall | undefined,
  update: unknown,
  at: number | undefined,
): ToolCall | undefined {
  const read = ToolCallUpdate.safeParse(update);
  if (!read.success) return known;
  const { data } = read;
  const status = data.status ?? known?.status ?? "pending";
  const began = known ? known.began : at;
  return {
    id: data.toolCallId,
    title: data.title ?? known?.title ?? data.name ?? "Tool call",
    name: data.name ?? known?.name,
    kind: data.kind ?? known?.kind,
    status,
    content: data.content ? data.content.flatMap(partOf) : (known?.content ?? []),
    paths: data.locations ? data.locations.flatMap(pathOf) : (known?.paths ?? []),
    input: data.rawInput ?? known?.input,
    output: data.rawOutput ?? known?.output,
    verdict: verdictWith(known?.verdict, update),
    began,
    ended: isOver({ status }) ? (known?.ended ?? at) : undefined,
  };
}

/** Merges a later verdict, such as that an allowed call was interrupted. */
function verdictWith(known: Verdict | undefined, update: unknown): Verdict | undefined {
  const said = verdictIn(update);
  if (said) return { ...known, ...said };
  const more = annotationIn(update);
  return known && more ? { ...known, ...more, verdict: known.verdict } : known;
}

function partOf(part: unknown): ToolContent[] {
  const read = Part.safeParse(part);
  if (!read.success) return [];
  const { data } = read;
  if (data.type === "content") return [{ kind: "text", text: contentText(parseContent(data.content)) }];
  if (data.type === "terminal") return [{ kind: "terminal", id: data.terminalId }];
  return [{ kind: "diff", path: data.path, before: data.oldText ?? "", after: data.newText }];
}

function pathOf(location: unknown): string[] {
  const read = Located.safeParse(location);
  return read.success ? [read.data.path] : [];
}
