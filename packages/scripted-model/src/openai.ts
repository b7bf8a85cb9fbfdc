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
} from "./dialect.ts";

type SpokenCall = SpokenPart & { readonly kind: "call" };

function error(status: number, message: string): object {
  const [type] = errorKind(status);
  return { error: { message, type, param: null, code: type } };
}

/** OpenAI's Chat Completions API, which most other vendors speak as well. */
export const openaiChat: Dialect = {
  name: "openai-chat",
  answers: (path) => path.endsWith("/chat/completions"),
  read(_path, body) {
    const messages = listMember(body, "messages");
    const instructions = messages.filter(isInstruction).map((said) => contentText(member(said, "content")));
    return {
      system: instructions.join("\n"),
      items: messages.filter((said) => !isInstruction(said)).map(chatItem),
      tools: listMember(body, "tools").map(chatTool),
    };
  },
  voice(conversation, id) {
    const { model } = conversation;
    let calls = 0;
    const chunk = (delta: object, finish: string | null = null) =>
      sseText({
        json: {
          ...completion("chat.completion.chunk", model, id),
          choices: [{ index: 0, delta, finish_reason: finish }],
        },
      });
    return {
      begin: () => [chunk({ role: "assistant", content: "" })],
      part: (part) => chatDeltas(part, part.kind === "call" ? calls++ : 0).map((delta) => chunk(delta)),
      half: (part) =>
        chatDeltas(part, calls++)
          .slice(0, 2)
          .map((delta) => chunk(delta)),
      end: (ending) => [
        chunk({}, stopWord(ending, calls > 0, STOP)),
        sseText({
          json: {
            ...completion("chat.completion.chunk", model, id),
            choices: [],
            usage: usageIn(conversation),
          },
        }),
        sseText({ data: "[DONE]" }),
      ],
    };
  },
  whole(conversation, id, parts, ending) {
    const { model } = conversation;
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
    const choice = { index: 0, message, finish_reason: stopWord(ending, calls.length > 0, STOP) };
    return { ...completion("chat.completion", model, id), choices: [choice], usage: usageIn(conversation) };
  },
  error,
};

function isInstruction(said: unknown): boolean {
  return ["system", "developer"].includes(textMember(said, "role"));
}

function chatItem(said: unknown): ConversationItem {
  const text = contentText(member(said, "content"));
  const role = textMember(said, "role");
  if (role === "tool") return { role, call: textMember(said, "tool_call_id"), text };
  if (role !== "assistant") return { role: "user", text };
  const calls = listMember(said, "tool_calls").map((each) => textMember(member(each, "function"), "name"));
  return { role, text, calls };
}

function chatTool(tool: unknown): OfferedTool {
  const described = member(tool, "function");
  const names = argumentNames(member(described, "parameters"));
  return { name: textMember(described, "name"), freeform: false, ...names };
}

function completion(object: string, model: string, id: string): object {
  return { id: `chatcmpl-${id}`, object, created: 0, model };
}

function usageIn({ usage: { input, output } }: Pick<Conversation, "usage">): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

const STOP = { length: "length", call: "tool_calls", end: "stop" };

function chatDeltas(part: SpokenPart, index: number): readonly object[] {
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

/** OpenAI's Responses API. */
export const openaiResponses: Dialect = {
  name: "openai-responses",
  answers: (path) => path.endsWith("/responses"),
  read(_path, body) {
    const given = member(body, "input");
    const input = typeof given === "string" ? [{ role: "user", content: given }] : listMember(body, "input");
    const told = input.filter(isInstruction).map((item) => contentText(member(item, "content")));
    return {
      system: [textMember(body, "instructions"), ...told].join("\n"),
      items: input.filter((item) => !isInstruction(item)).flatMap(itemsOf),
      // Codex puts the tools of newer models into the conversation.
      tools: [body, ...input].flatMap((item) => listMember(item, "tools")).flatMap((tool) => toolsOf(tool)),
    };
  },
  voice(conversation, id) {
    let sequence = 0;
    const output: object[] = [];
    const typed = (type: string, rest: object) =>
      sseText({ event: type, json: { type, sequence_number: sequence++, ...rest } });
    const response = (status: string) => ({ response: responseObject(conversation, id, status, output) });
    const begun = (part: SpokenPart, itemId: string, deltas: readonly string[]) => {
      const [type, place] = deltaOf(part);
      const at = { item_id: itemId, output_index: output.length };
      const block = { content_index: 0, part: { type: "output_text", text: "", annotations: [] } };
      return [
        typed("response.output_item.added", { output_index: output.length, item: openItem(part, itemId) }),
        ...(part.kind === "text" ? [typed("response.content_part.added", { ...at, ...block })] : []),
        ...deltas.map((delta) => typed(type, { ...at, ...place, delta })),
      ];
    };
    return {
      begin: () => [typed("response.created", response("in_progress"))],
      part(part) {
        const itemId = itemIdOf(part, id, output.length);
        const events = begun(part, itemId, textsOf(part));
        const item = wholeItem(part, itemId);
        const done = typed("response.output_item.done", { output_index: output.length, item });
        output.push(item);
        return [...events, done];
      },
      half: (part) => begun(part, itemIdOf(part, id, output.length), textsOf(part).slice(0, 1)),
      end: (ending) => [
        ending === "end"
          ? typed("response.completed", response("completed"))
          : typed("response.incomplete", response("incomplete")),
      ],
    };
  },
  whole(conversation, id, parts, ending) {
    const output = parts.map((part, index) => wholeItem(part, itemIdOf(part, id, index)));
    return responseObject(conversation, id, ending === "end" ? "completed" : "incomplete", output);
  },
  error,
};

function itemsOf(item: unknown): ConversationItem[] {
  const type = textMember(item, "type") || "message";
  if (type === "function_call_output" || type === "custom_tool_call_output") {
    const output = member(item, "output");
    const text =
      contentText(output) || contentText(member(output, "content")) || JSON.stringify(output ?? "");
    return [{ role: "tool", call: textMember(item, "call_id"), text }];
  }
  if (type === "function_call" || type === "custom_tool_call") {
    return [{ role: "assistant", text: "", calls: [textMember(item, "name")] }];
  }
  if (type !== "message") return [];
  const text = contentText(member(item, "content"));
  if (textMember(item, "role") === "assistant") return [{ role: "assistant", text, calls: [] }];
  return [{ role: "user", text }];
}

function toolsOf(tool: unknown, namespace?: string): OfferedTool[] {
  const type = textMember(tool, "type");
  const name = textMember(tool, "name");
  if (type === "namespace") return listMember(tool, "tools").flatMap((inner) => toolsOf(inner, name));
  return [
    {
      name: name || type,
      ...(namespace !== undefined && { namespace }),
      freeform: type === "custom",
      ...argumentNames(member(tool, "parameters")),
    },
  ];
}

function responseObject(
  { model, usage }: Pick<Conversation, "model" | "usage">,
  id: string,
  status: string,
  output: readonly object[],
): object {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: 0,
    model,
    status,
    output: [...output],
    error: null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    usage:
      status === "in_progress"
        ? null
        : {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: usage.input + usage.output,
          },
  };
}

function itemIdOf(part: SpokenPart, id: string, index: number): string {
  return part.kind === "call" ? `fc_${part.id}` : `${part.kind === "text" ? "msg" : "rs"}_${id}_${index}`;
}

function isFreeform(part: SpokenPart): boolean {
  return part.kind === "call" && typeof part.arguments === "string";
}

/** The type of the events that bring a part, and which piece of it they are for. */
function deltaOf(part: SpokenPart): readonly [type: string, place: object] {
  if (part.kind === "text") return ["response.output_text.delta", { content_index: 0 }];
  if (part.kind === "thinking") return ["response.reasoning_summary_text.delta", { summary_index: 0 }];
  const name = isFreeform(part) ? "custom_tool_call_input" : "function_call_arguments";
  return [`response.${name}.delta`, {}];
}

function textsOf(part: SpokenPart): readonly string[] {
  return part.kind === "call" ? halves(argumentText(part.arguments)) : part.pieces;
}

function openItem(part: SpokenPart, id: string): object {
  if (part.kind === "call") return callItem(part, id, "", "in_progress");
  if (part.kind === "thinking") return { type: "reasoning", id, summary: [] };
  return { type: "message", id, role: "assistant", status: "in_progress", content: [] };
}

function wholeItem(part: SpokenPart, id: string): object {
  if (part.kind === "call") return callItem(part, id, argumentText(part.arguments), "completed");
  const text = part.pieces.join("");
  if (part.kind === "thinking") return { type: "reasoning", id, summary: [{ type: "summary_text", text }] };
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id, role: "assistant", status: "completed", content };
}

function callItem(part: SpokenCall, id: string, given: string, status: string): object {
  const named = {
    id,
    call_id: `call_${part.id}`,
    name: part.tool,
    ...(part.namespace !== undefined && { namespace: part.namespace }),
    status,
  };
  if (isFreeform(part)) return { type: "custom_tool_call", ...named, input: given };
  return { type: "function_call", ...named, arguments: given };
}
