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
  const ids = idsOf(update);
  return {
    of: `${kind} ${Object.values(ids).join(" ")}`,
    text,
    hasMore: sizeOf(update) > 2 + sizeOf(ids) || sizeOf(content) > 2,
    with: (other) => ({ ...update, content: { ...content, text: other } }),
    alone: (other) => ({ sessionUpdate: kind, ...ids, content: { type: "text", text: other } }),
  };
}

/** `terminal_output_chunk`: a member. */
function plainPiece(kind: string, update: Update): Piece | undefined {
  const member = TEXTS.find((name) => typeof update[name] === "string");
  if (member === undefined) return undefined;
  const ids = idsOf(update);
  return {
    of: `${kind} ${Object.values(ids).join(" ")}`,
    text: String(update[member]),
    hasMore: sizeOf(update) > 2 + sizeOf(ids),
    with: (other) => ({ ...update, [member]: other }),
    alone: (other) => ({ sessionUpdate: kind, ...ids, [member]: other }),
  };
}

/** What a command printed, as agents with terminals of their own tell it: in the `_meta` of a tool call. */
function terminalPiece(kind: string, update: Update): Piece | undefined {
  const meta = membersOf(update._meta);
  const output = membersOf(meta.terminal_output);
  const { terminal_id, data } = output;
  if (typeof data !== "string") return undefined;
  const { toolCallId } = update;
  return {
    of: `terminal ${String(terminal_id ?? toolCallId)}`,
    text: data,
    hasMore: sizeOf(update) > 3 || sizeOf(meta) > 1 || sizeOf(output) > 2,
    with: (other) => ({ ...update, _meta: { ...meta, terminal_output: { ...output, data: other } } }),
    alone: (other) => ({
      sessionUpdate: kind,
      toolCallId,
      _meta: { terminal_output: { terminal_id, data: other } },
    }),
  };
}

function idsOf(update: Update): Update {
  const ids: Record<string, unknown> = {};
  for (const name of IDS) if (update[name] !== undefined) ids[name] = update[name];
  return ids;
}

function sizeOf(members: Update): number {
  return Object.keys(members).length;
}
