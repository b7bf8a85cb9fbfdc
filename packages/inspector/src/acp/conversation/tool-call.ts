import { z } from "zod";
import { contentOf, saidIn, type Verdict, verdictIn, wordsOf } from "./content.ts";

/** A part of what a tool call shows. */
type ToolContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "diff"; readonly path: string; readonly before: string; readonly after: string }
  | { readonly kind: "terminal"; readonly id: string };

/** One call of a tool, as far as it was told. */
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
  /** When it was first and last heard of, in milliseconds; absent for what was told again. */
  readonly began: number | undefined;
  readonly ended: number | undefined;
}

const text = z.string().nullish();
const Told = z.looseObject({
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

/** Whether a call has come to its end. */
export function isOver({ status }: Pick<ToolCall, "status">): boolean {
  return OVER.has(status);
}

/** The id of the call that an update tells of. */
export function toolCallIdIn(update: unknown): string | undefined {
  const read = Told.safeParse(update);
  return read.success ? read.data.toolCallId : undefined;
}

/** A call with what an update tells of it: what is not told stays as it was. */
export function toolCallWith(
  known: ToolCall | undefined,
  update: unknown,
  at: number | undefined,
): ToolCall | undefined {
  const read = Told.safeParse(update);
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

/** A later word of the harness adds to an earlier one, such as that an allowed call was cut off. */
function verdictWith(known: Verdict | undefined, update: unknown): Verdict | undefined {
  const said = verdictIn(update);
  if (said) return { ...known, ...said };
  const more = saidIn(update);
  return known && more ? { ...known, ...more, verdict: known.verdict } : known;
}

function partOf(part: unknown): ToolContent[] {
  const read = Part.safeParse(part);
  if (!read.success) return [];
  const { data } = read;
  if (data.type === "content") return [{ kind: "text", text: wordsOf(contentOf(data.content)) }];
  if (data.type === "terminal") return [{ kind: "terminal", id: data.terminalId }];
  return [{ kind: "diff", path: data.path, before: data.oldText ?? "", after: data.newText }];
}

function pathOf(location: unknown): string[] {
  const read = Located.safeParse(location);
  return read.success ? [read.data.path] : [];
}
