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
