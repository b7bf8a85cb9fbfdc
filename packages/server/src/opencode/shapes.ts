import { createHash } from "node:crypto";
import { blockText, type JsonObject, membersOf, readContent } from "@reins/acp";
import type { LoggedEvent, SessionRecord } from "@reins/host";
import { amountOf } from "@reins/kit";

/** The version of OpenCode whose answers these are. */
export const OPENCODE_VERSION = "1.18.33";
/** The one project that every folder belongs to. */
export const PROJECT = "global";
/** Stands for the model of an agent, which the agent chooses. */
export const SHOWN_MODEL = { providerID: "reins", modelID: "default" } as const;

export interface ShownError {
  readonly name: string;
  readonly data: { readonly message: string };
}

/** A message of a user or of an assistant, without its parts. */
interface ShownInfo extends JsonObject {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly time: { readonly created: number; readonly completed?: number };
}

export interface ShownMessage {
  info: ShownInfo;
  readonly parts: ShownPart[];
}

/** A part of a message: text, reasoning, a file or a call of a tool. */
export interface ShownPart {
  readonly id: string;
  readonly sessionID: string;
  readonly messageID: string;
  readonly type: string;
  text?: string;
  time?: { readonly start: number; readonly end?: number };
  state?: JsonObject;
  readonly mime?: string;
  readonly url?: string;
  readonly filename?: string;
}

const SESSION = /^ses_([\w-]{1,128})$/;
const APPROVAL = /^per_([\w-]{1,128})$/;

/** The id of a session as OpenCode's clients know it. */
export function sessionIdOf(id: string): string {
  return `ses_${id}`;
}

/** The session that a client names; undefined if it can be none. */
export function sessionIn(id: string): string | undefined {
  return SESSION.exec(id)?.[1];
}

export function permissionIdOf(approval: string): string {
  return `per_${approval}`;
}

/** The approval that a client names; undefined if it can be none. */
export function approvalIn(id: string): string | undefined {
  return APPROVAL.exec(id)?.[1];
}

const ORDER_DIGITS = 11;
const INDEX_DIGITS = 3;

/**
 * An id that sorts by time as those do that OpenCode's clients make, then by the position in the log. The same message of
 * the log always has the same.
 */
export function orderedId(
  prefix: "msg" | "prt" | "evt",
  { at, order }: Pick<LoggedEvent, "at" | "order">,
  index = 0,
): string {
  const time = ((Math.max(0, at) * 0x1000 + 1) % 2 ** 48).toString(16).padStart(12, "0");
  const digits = order.toString(36).padStart(ORDER_DIGITS, "0");
  return `${prefix}_${time}${digits}${index.toString(36).padStart(INDEX_DIGITS, "0")}`;
}

/** The id of an event that says how something is now: the same for the same content. */
export function contentId(content: string): string {
  return `evt_${createHash("sha256").update(content).digest("hex").slice(0, 26)}`;
}

export interface SessionInfo extends JsonObject {
  readonly id: string;
  readonly slug: string;
  readonly projectID: string;
  readonly directory: string;
  readonly title: string;
  readonly version: string;
  readonly time: { readonly created: number; readonly updated: number };
}

/** A session as OpenCode's clients know it. */
export function sessionInfo(record: SessionRecord): SessionInfo {
  const { id, agent, cwd, title, created_at, last_activity, parent } = record;
  const created = Date.parse(created_at);
  return {
    id: sessionIdOf(id),
    slug: id.slice(-12),
    projectID: PROJECT,
    directory: cwd,
    path: "",
    ...(parent !== undefined && { parentID: sessionIdOf(parent) }),
    title: title ?? `New session - ${created_at}`,
    agent,
    model: { id: SHOWN_MODEL.modelID, providerID: SHOWN_MODEL.providerID },
    version: OPENCODE_VERSION,
    time: { created, updated: Math.max(created, Date.parse(last_activity)) },
  };
}

/** A block of a prompt as a part of a message. */
export function promptPart(block: unknown): Pick<ShownPart, "type"> & Partial<ShownPart> {
  const text = blockText(block);
  if (text !== undefined) return { type: "text", text };
  const { uri, data, mimeType, name } = readContent(block);
  const mime = mimeType ?? "text/plain";
  const { resource } = membersOf(block);
  const address = uri ?? membersOf(resource).uri;
  const url = data === undefined ? address : `data:${mime};base64,${data}`;
  if (typeof url !== "string") return { type: "text", text: contentText(block) };
  return { type: "file", mime, url, ...(name !== undefined && { filename: name }) };
}

/** The text of a content block, or its address, or its type. */
export function contentText(block: unknown): string {
  const text = blockText(block);
  if (text !== undefined) return text;
  const { type, uri, mimeType, resource } = membersOf(block);
  const address = uri ?? membersOf(resource).uri;
  if (typeof address === "string") return address;
  return type === undefined ? "" : `[${String(mimeType ?? type)}]`;
}

/** What a turn used, as OpenCode counts it. */
export function tokensOf(usage: JsonObject): JsonObject {
  const of = (name: string) => amountOf(usage[name]) ?? 0;
  return {
    input: of("input_tokens"),
    output: of("output_tokens"),
    reasoning: of("thought_tokens"),
    cache: { read: of("cached_read_tokens"), write: of("cached_write_tokens") },
  };
}

/** How a turn failed, if it did. */
export function errorOf(stop_reason: unknown): { readonly error?: ShownError } {
  if (stop_reason === "cancelled")
    return { error: { name: "MessageAbortedError", data: { message: "The turn was cancelled" } } };
  if (stop_reason === "error" || stop_reason === "interrupted")
    return { error: { name: "UnknownError", data: { message: `The turn ended: ${stop_reason}` } } };
  return {};
}
