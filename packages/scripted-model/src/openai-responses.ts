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
  serverEvent,
  USAGE,
} from "./dialect.ts";

/** OpenAI's Responses API. */
export const openaiResponses: Dialect = {
  name: "openai-responses",
  answers: (path) => path.endsWith("/responses"),
  aside: () => undefined,
  read(_path, body) {
    const given = member(body, "input");
    const input = typeof given === "string" ? [{ role: "user", content: given }] : listMember(body, "input");
    const told = input.filter(isInstruction).map((item) => contentText(member(item, "content")));
    return {
      dialect: "openai-responses",
      model: textMember(body, "model"),
      streamed: member(body, "stream") === true,
      system: [textMember(body, "instructions"), ...told].join("\n"),
      items: input.filter((item) => !isInstruction(item)).flatMap(itemsOf),
      // Codex puts the tools of newer models into the conversation.
      tools: [body, ...input].flatMap((item) => listMember(item, "tools")).flatMap((tool) => toolsOf(tool)),
    };
  },
  voice({ model }, id) {
    let sequence = 0;
    const output: object[] = [];
    const typed = (type: string, rest: object) =>
      serverEvent({ type, sequence_number: sequence++, ...rest }, type);
    const response = (status: string) => ({ response: envelope(model, id, status, output) });
    const begun = (part: SpokenPart, itemId: string, deltas: readonly string[]) => [
      typed("response.output_item.added", { output_index: output.length, item: openItem(part, itemId) }),
      ...partAdded(part).map((rest) =>
        typed("response.content_part.added", { item_id: itemId, output_index: output.length, ...rest }),
      ),
      ...deltas.map((delta) =>
        typed(deltaType(part), { item_id: itemId, output_index: output.length, ...deltaPlace(part), delta }),
      ),
    ];
    return {
      begin: () => [typed("response.created", response("in_progress"))],
      part(part) {
        const itemId = itemIdOf(part, id, output.length);
        const events = begun(part, itemId, deltasOf(part));
        const item = wholeItem(part, itemId);
        const done = typed("response.output_item.done", { output_index: output.length, item });
        output.push(item);
        return [...events, done];
      },
      half: (part) => begun(part, itemIdOf(part, id, output.length), deltasOf(part).slice(0, 1)),
      end: (ending) => [
        ending === "end"
          ? typed("response.completed", response("completed"))
          : typed("response.incomplete", response("incomplete")),
      ],
    };
  },
  whole({ model }, id, parts, ending) {
    const output = parts.map((part, index) => wholeItem(part, itemIdOf(part, id, index)));
    return envelope(model, id, ending === "end" ? "completed" : "incomplete", output);
  },
  error: (status, message) => ({
    error: { message, type: errorType(status), param: null, code: errorType(status) },
  }),
};

function isInstruction(item: unknown): boolean {
  return ["system", "developer"].includes(textMember(item, "role"));
}

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

function envelope(model: string, id: string, status: string, output: readonly object[]): object {
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
            input_tokens: USAGE.input,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: USAGE.output,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: USAGE.input + USAGE.output,
          },
  };
}

function itemIdOf(part: SpokenPart, id: string, index: number): string {
  return part.kind === "call" ? `fc_${part.id}` : `${part.kind === "text" ? "msg" : "rs"}_${id}_${index}`;
}

function isFreeform(part: SpokenPart): boolean {
  return part.kind === "call" && typeof part.arguments === "string";
}

function deltaType(part: SpokenPart): string {
  if (part.kind === "text") return "response.output_text.delta";
  if (part.kind === "thinking") return "response.reasoning_summary_text.delta";
  return isFreeform(part)
    ? "response.custom_tool_call_input.delta"
    : "response.function_call_arguments.delta";
}

function deltaPlace(part: SpokenPart): object {
  if (part.kind === "text") return { content_index: 0 };
  return part.kind === "thinking" ? { summary_index: 0 } : {};
}

function partAdded(part: SpokenPart): readonly object[] {
  return part.kind === "text"
    ? [{ content_index: 0, part: { type: "output_text", text: "", annotations: [] } }]
    : [];
}

function deltasOf(part: SpokenPart): readonly string[] {
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

function callItem(part: SpokenPart & { kind: "call" }, id: string, given: string, status: string): object {
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
