import { isRecord } from "@reins/kit";

/** The wire protocols a model can be spoken to in. */
export type DialectName = "anthropic" | "openai-chat" | "openai-responses" | "gemini";

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
