import { membersOf, type Update } from "./update.ts";

/** A piece of a text that an update carries. */
export interface Piece {
  /** Tells the text that it belongs to from others. */
  readonly of: string;
  readonly text: string;
  /** Whether the update says anything besides. */
  readonly hasMore: boolean;
  /** The update with another text. */
  with(text: string): Update;
  /** An update with nothing but a text. */
  alone(text: string): Update;
}

/** By what the text of a chunk is told from others of its kind. */
const IDS = ["messageId", "toolCallId", "terminalId", "compactionId", "subagentId"];
/** Where chunks without a content block have their text. */
const TEXTS = ["text", "data", "output"];

/** The piece of text that an update carries on, if it does. */
export function pieceOf(update: Update): Piece | undefined {
  const kind = update.sessionUpdate;
  if (typeof kind !== "string") return undefined;
  if (kind.endsWith("_chunk")) return contentPiece(kind, update) ?? plainPiece(kind, update);
  return kind === "tool_call_update" ? terminalPiece(kind, update) : undefined;
}

/** `agent_message_chunk` and its like: a content block. */
function contentPiece(kind: string, update: Update): Piece | undefined {
  const content = membersOf(update.content);
  const { text } = content;
  if (content.type !== "text" || typeof text !== "string") return undefined;
  return {
    of: textOf(kind, update),
    text,
    hasMore: hasMore(update, 2) || Object.keys(content).length > 2,
    with: (other) => ({ ...update, content: { ...content, text: other } }),
    alone: (other) => ({ sessionUpdate: kind, ...idsOf(update), content: { type: "text", text: other } }),
  };
}

/** `terminal_output_chunk`: a member. */
function plainPiece(kind: string, update: Update): Piece | undefined {
  const member = TEXTS.find((name) => typeof update[name] === "string");
  if (member === undefined) return undefined;
  return {
    of: textOf(kind, update),
    text: String(update[member]),
    hasMore: hasMore(update, 2),
    with: (other) => ({ ...update, [member]: other }),
    alone: (other) => ({ sessionUpdate: kind, ...idsOf(update), [member]: other }),
  };
}

/** What a command printed, as agents with terminals of their own tell it: in the `_meta` of a tool call. */
function terminalPiece(kind: string, update: Update): Piece | undefined {
  const meta = membersOf(update._meta);
  const output = membersOf(meta.terminal_output);
  const { terminal_id, data } = output;
  if (typeof data !== "string") return undefined;
  return {
    of: `${textOf("terminal", update)} ${String(terminal_id)}`,
    text: data,
    hasMore: hasMore(update, 2) || Object.keys(meta).length > 1 || Object.keys(output).length > 2,
    with: (other) => ({ ...update, _meta: { ...meta, terminal_output: { ...output, data: other } } }),
    alone: (other) => ({
      sessionUpdate: kind,
      ...idsOf(update),
      _meta: { terminal_output: { terminal_id, data: other } },
    }),
  };
}

function textOf(kind: string, update: Update): string {
  let of = kind;
  for (const name of IDS) if (update[name] !== undefined) of += ` ${String(update[name])}`;
  return of;
}

function hasMore(update: Update, known: number): boolean {
  let members = known;
  for (const name of IDS) if (update[name] !== undefined) members += 1;
  return Object.keys(update).length > members;
}

function idsOf(update: Update): Update {
  return Object.fromEntries(
    IDS.filter((name) => update[name] !== undefined).map((name) => [name, update[name]]),
  );
}
