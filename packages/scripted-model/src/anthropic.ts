import { sseText } from "@reins/kit";
import {
  argumentNames,
  argumentText,
  type Conversation,
  type ConversationItem,
  contentText,
  type Dialect,
  errorKind,
  halves,
  listMember,
  member,
  type OfferedTool,
  type SpokenPart,
  stopWord,
  textMember,
  toolResult,
  USAGE,
  userText,
} from "./dialect.ts";

/** Anthropic's Messages API. */
export const anthropic: Dialect = {
  name: "anthropic",
  answers: (path) => path.endsWith("/v1/messages"),
  aside: (path) => (path.endsWith("/v1/messages/count_tokens") ? { input_tokens: USAGE.input } : undefined),
  read: (_path, body) => ({
    system: contentText(member(body, "system")),
    items: listMember(body, "messages").flatMap(itemsOf),
    tools: listMember(body, "tools").map(toolOf),
  }),
  voice({ model, usage }, id) {
    let index = 0;
    let called = false;
    const begun = (part: SpokenPart, deltas: readonly object[]) => {
      called ||= part.kind === "call";
      const start = typed("content_block_start", { index, content_block: emptyBlock(part) });
      return [start, ...deltas.map((delta) => typed("content_block_delta", { index, delta }))];
    };
    return {
      begin: () => [typed("message_start", { message: message({ model, usage }, id, [], null) })],
      part: (part) => [...begun(part, deltasOf(part)), typed("content_block_stop", { index: index++ })],
      half: (part) => begun(part, deltasOf(part).slice(0, 1)),
      end: (ending) => [
        typed("message_delta", {
          delta: { stop_reason: stopWord(ending, called, STOP), stop_sequence: null },
          usage: { output_tokens: usage.output },
        }),
        typed("message_stop", {}),
      ],
    };
  },
  whole(conversation, id, parts, ending) {
    const called = parts.some(({ kind }) => kind === "call");
    return message(conversation, id, parts.map(wholeBlock), stopWord(ending, called, STOP));
  },
  error: (status, text) => ({ type: "error", error: { type: errorKind(status)[0], message: text } }),
};

function itemsOf(said: unknown): ConversationItem[] {
  const content = member(said, "content");
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : listMember(said, "content");
  const text = contentText(blocks);
  if (textMember(said, "role") === "assistant") {
    const calls = blocks.filter((block) => textMember(block, "type") === "tool_use");
    return [{ role: "assistant", text, calls: calls.map((block) => textMember(block, "name")) }];
  }
  const results = blocks.filter((block) => textMember(block, "type") === "tool_result");
  const returned = results.map((block) =>
    toolResult(textMember(block, "tool_use_id"), contentText(member(block, "content"))),
  );
  return [...returned, ...userText(text)];
}

function toolOf(tool: unknown): OfferedTool {
  return { name: textMember(tool, "name"), freeform: false, ...argumentNames(member(tool, "input_schema")) };
}

function typed(type: string, rest: object): string {
  return sseText({ event: type, json: { type, ...rest } });
}

function message(
  { model, usage: { input, output } }: Pick<Conversation, "model" | "usage">,
  id: string,
  content: readonly object[],
  stop: string | null,
): object {
  const usage = { input_tokens: input, output_tokens: output };
  const ended = { stop_reason: stop, stop_sequence: null, usage };
  return { id: `msg_${id}`, type: "message", role: "assistant", model, content, ...ended };
}

const STOP = { length: "max_tokens", call: "tool_use", end: "end_turn" };

function emptyBlock(part: SpokenPart): object {
  if (part.kind === "call") return { type: "tool_use", id: `toolu_${part.id}`, name: part.tool, input: {} };
  return part.kind === "text"
    ? { type: "text", text: "" }
    : { type: "thinking", thinking: "", signature: "" };
}

function deltasOf(part: SpokenPart): readonly object[] {
  if (part.kind === "call") {
    const texts = halves(argumentText(part.arguments));
    return texts.map((partial_json) => ({ type: "input_json_delta", partial_json }));
  }
  if (part.kind === "text") return part.pieces.map((text) => ({ type: "text_delta", text }));
  const thoughts = part.pieces.map((thinking) => ({ type: "thinking_delta", thinking }));
  return [...thoughts, { type: "signature_delta", signature: "c2NyaXB0" }];
}

function wholeBlock(part: SpokenPart): object {
  if (part.kind === "call") return { ...emptyBlock(part), input: part.arguments };
  const text = part.pieces.join("");
  return part.kind === "text"
    ? { type: "text", text }
    : { type: "thinking", thinking: text, signature: "c2NyaXB0" };
}
