import {
  argumentNames,
  type ConversationItem,
  contentText,
  listMember,
  member,
  type OfferedTool,
  textMember,
} from "./conversation.ts";
import {
  argumentText,
  type Dialect,
  errorType,
  halves,
  type SpokenPart,
  type StopEnding,
  serverEvent,
  USAGE,
} from "./dialect.ts";

/** OpenAI's Chat Completions API, which most other vendors speak as well. */
export const openaiChat: Dialect = {
  name: "openai-chat",
  answers: (path) => path.endsWith("/chat/completions"),
  aside: () => undefined,
  read(_path, body) {
    const messages = listMember(body, "messages");
    const instructions = messages.filter(isInstruction).map((said) => contentText(member(said, "content")));
    return {
      dialect: "openai-chat",
      model: textMember(body, "model"),
      streamed: member(body, "stream") === true,
      system: instructions.join("\n"),
      items: messages.filter((said) => !isInstruction(said)).map(itemOf),
      tools: listMember(body, "tools").map(toolOf),
    };
  },
  voice({ model }, id) {
    let calls = 0;
    const chunk = (delta: object, finish: string | null = null) =>
      serverEvent({
        ...envelope("chat.completion.chunk", model, id),
        choices: [{ index: 0, delta, finish_reason: finish }],
      });
    return {
      begin: () => [chunk({ role: "assistant", content: "" })],
      part: (part) => deltasOf(part, part.kind === "call" ? calls++ : 0).map((delta) => chunk(delta)),
      half: (part) =>
        deltasOf(part, calls++)
          .slice(0, 2)
          .map((delta) => chunk(delta)),
      end: (ending) => [
        chunk({}, finishReason(ending, calls > 0)),
        serverEvent({ ...envelope("chat.completion.chunk", model, id), choices: [], usage: usage() }),
        serverEvent("[DONE]"),
      ],
    };
  },
  whole({ model }, id, parts, ending) {
    const calls = parts.filter((part) => part.kind === "call");
    const spoken = (kind: SpokenPart["kind"]) =>
      parts.flatMap((part) => (part.kind === kind && part.kind !== "call" ? part.pieces : [])).join("");
    const message = {
      role: "assistant",
      content: spoken("text"),
      ...(spoken("thinking") !== "" && { reasoning_content: spoken("thinking") }),
      ...(calls.length > 0 && {
        tool_calls: calls.map((part) => toolCall(part, argumentText(part.arguments))),
      }),
    };
    const choice = { index: 0, message, finish_reason: finishReason(ending, calls.length > 0) };
    return { ...envelope("chat.completion", model, id), choices: [choice], usage: usage() };
  },
  error: (status, message) => ({
    error: { message, type: errorType(status), param: null, code: errorType(status) },
  }),
};

type SpokenCall = SpokenPart & { readonly kind: "call" };

function isInstruction(said: unknown): boolean {
  return ["system", "developer"].includes(textMember(said, "role"));
}

function itemOf(said: unknown): ConversationItem {
  const text = contentText(member(said, "content"));
  const role = textMember(said, "role");
  if (role === "tool") return { role, call: textMember(said, "tool_call_id"), text };
  if (role !== "assistant") return { role: "user", text };
  const calls = listMember(said, "tool_calls").map((each) => textMember(member(each, "function"), "name"));
  return { role, text, calls };
}

function toolOf(tool: unknown): OfferedTool {
  const described = member(tool, "function");
  return {
    name: textMember(described, "name"),
    freeform: false,
    ...argumentNames(member(described, "parameters")),
  };
}

function envelope(object: string, model: string, id: string): object {
  return { id: `chatcmpl-${id}`, object, created: 0, model };
}

function usage(): object {
  return {
    prompt_tokens: USAGE.input,
    completion_tokens: USAGE.output,
    total_tokens: USAGE.input + USAGE.output,
  };
}

function finishReason(ending: StopEnding, called: boolean): string {
  if (ending === "length") return "length";
  return called ? "tool_calls" : "stop";
}

function deltasOf(part: SpokenPart, index: number): readonly object[] {
  if (part.kind !== "call") {
    const name = part.kind === "text" ? "content" : "reasoning_content";
    return part.pieces.map((piece) => ({ [name]: piece }));
  }
  const opening = { tool_calls: [{ index, ...toolCall(part, "") }] };
  const rest = halves(argumentText(part.arguments)).map((half) => ({
    tool_calls: [{ index, function: { arguments: half } }],
  }));
  return [opening, ...rest];
}

function toolCall(part: SpokenCall, given: string): object {
  return { id: `call_${part.id}`, type: "function", function: { name: part.tool, arguments: given } };
}
