import { isRecord } from "@reins/kit";
import type { CallArguments } from "./script.ts";

/** The wire protocols a model can be spoken to in. */
type DialectName = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

/** A tool that the asking agent put on offer. */
export interface OfferedTool {
  readonly name: string;
  /** The group it is called under, where the dialect has groups. */
  readonly namespace?: string;
  /** Takes a text as it is instead of arguments by name. */
  readonly freeform: boolean;
  /** The names of its arguments. */
  readonly properties: readonly string[];
  readonly required: readonly string[];
}

/** What a tool gave back to the model. */
export interface ToolResult {
  readonly role: "tool";
  readonly call: string;
  readonly text: string;
}

/** One thing said in a conversation, in the order it was said. */
export type ConversationItem =
  /** In the user's name; agents add reminders of their own there. */
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly string[] }
  | ToolResult;

/** One request to a model, whatever its dialect. */
export interface Conversation {
  readonly dialect: DialectName;
  readonly model: string;
  /** Whether the answer is to be streamed. */
  readonly streamed: boolean;
  readonly system: string;
  readonly items: readonly ConversationItem[];
  readonly tools: readonly OfferedTool[];
  /** What the answer says that it took, in tokens. */
  readonly usage: ScriptedUsage;
}

/** Tokens of a request and of its answer. */
export interface ScriptedUsage {
  readonly input: number;
  readonly output: number;
}

/** The result of a call. */
export function toolResult(call: string, text: string): ToolResult {
  return { role: "tool", call, text };
}

/** What was said in the user's name, if anything was. */
export function userText(text: string): readonly ConversationItem[] {
  return text === "" ? [] : [{ role: "user", text }];
}

/** Where the turn that is being answered mentions a word last; -1 when it does not. */
export function mentionOf(word: string, { items }: Conversation): number {
  const finished = items.findLastIndex(
    (item, index) =>
      item.role === "assistant" && item.calls.length === 0 && items[index + 1]?.role !== "assistant",
  );
  const last = items.findLastIndex((item) => item.role === "user" && item.text.includes(word));
  return last > finished ? last : -1;
}

/** What tools have given back after an item. */
export function resultsAfter(index: number, { items }: Conversation): readonly ToolResult[] {
  return items.slice(index + 1).filter((item) => item.role === "tool");
}

/** The member of an object that may not be one. */
export function member(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

/** A member that should be a text; empty where it is not. */
export function textMember(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === "string" ? found : "";
}

/** A member that should be a list; empty where it is not. */
export function listMember(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}

/** The texts in a content that is a text, or a list of parts of which some have one. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => (typeof part === "string" ? part : textMember(part, "text")))
    .filter((text) => text !== "")
    .join("\n");
}

/** The names of the arguments that a JSON Schema describes, and which of them must be given. */
export function argumentNames(schema: unknown): {
  properties: readonly string[];
  required: readonly string[];
} {
  const properties = member(schema, "properties");
  const required = listMember(schema, "required").filter((name) => typeof name === "string");
  return { properties: isRecord(properties) ? Object.keys(properties) : [], required };
}

/** A part as it goes out: calls in the agent's words, with an id. */
export type SpokenPart =
  | { readonly kind: "text" | "thinking"; readonly pieces: readonly string[] }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly tool: string;
      readonly namespace?: string;
      readonly arguments: CallArguments;
    };

/** Why an answer ended. */
export type StopEnding = "end" | "length";

/** Speaks one streamed answer. Every text it returns is a complete piece of the body. */
interface Voice {
  begin(): readonly string[];
  part(part: SpokenPart): readonly string[];
  /** The beginning of a call that will never be completed. */
  half(part: SpokenPart): readonly string[];
  end(ending: StopEnding): readonly string[];
}

/** One wire protocol between an agent and a model. */
export interface Dialect {
  readonly name: DialectName;
  /** Whether a request to this path asks for an answer. */
  answers(path: string): boolean;
  /** What else this protocol is asked for, such as counts of tokens. */
  aside?(path: string): unknown;
  /** Reads a request. Its model and whether to stream are in the body, unless this says otherwise. */
  read(
    path: string,
    body: unknown,
  ): Pick<Conversation, "system" | "items" | "tools"> & Partial<Pick<Conversation, "model" | "streamed">>;
  voice(conversation: Conversation, id: string): Voice;
  /** The whole answer in one document. */
  whole(conversation: Conversation, id: string, parts: readonly SpokenPart[], ending: StopEnding): unknown;
  error(status: number, message: string): unknown;
}

/** Reads a request in a dialect. */
export function readRequest(dialect: Dialect, path: string, body: unknown): Conversation {
  const streamed = member(body, "stream") === true;
  const model = textMember(body, "model");
  return { dialect: dialect.name, model, streamed, usage: USAGE, ...dialect.read(path, body) };
}

/** The word for why an answer ended. */
export function stopWord(
  ending: StopEnding,
  called: boolean,
  words: { readonly length: string; readonly call: string; readonly end: string },
): string {
  return words[ending === "end" && called ? "call" : ending];
}

/** The arguments of a call as the text a model writes. */
export function argumentText(given: CallArguments): string {
  return typeof given === "string" ? given : JSON.stringify(given);
}

/** Cuts a text into a first part, which is all that arrives when a stream breaks off, and the rest. */
export function halves(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

/** What answers say they took, unless it is estimated. Agents divide by some of these, so none is 0. */
export const USAGE: ScriptedUsage = { input: 10, output: 5 };

/** By HTTP status, the kind of error in the words that Anthropic and OpenAI share, and in Google's. */
const ERRORS: Readonly<Record<number, readonly [type: string, status: string]>> = {
  401: ["authentication_error", "UNAUTHENTICATED"],
  403: ["permission_error", "PERMISSION_DENIED"],
  404: ["not_found_error", "NOT_FOUND"],
  429: ["rate_limit_error", "RESOURCE_EXHAUSTED"],
  529: ["overloaded_error", "INTERNAL"],
};

const INVALID = ["invalid_request_error", "INVALID_ARGUMENT"] as const;
const FAILED = ["api_error", "INTERNAL"] as const;

/** The kind of error that an HTTP status is. */
export function errorKind(status: number): readonly [type: string, status: string] {
  return ERRORS[status] ?? (status < 500 ? INVALID : FAILED);
}
