import type Anthropic from "@anthropic-ai/sdk";
import { type JsonObject, parseObject } from "@reins/acp";
import { z } from "zod";
import type { AssistantPart, MediaPart, Message, UserPart } from "../history/entry.ts";
import type { ThinkingStyle } from "./anthropic-model.ts";
import type { ModelRequest, ThoughtLevel } from "./model.ts";

type Block = Anthropic.ContentBlockParam;

/** Settings of a model at Anthropic. */
export interface AnthropicSettings {
  /** The model's name at Anthropic. */
  readonly model: string;
  /** Our id of the model, under which its thoughts are sealed. */
  readonly id: string;
  readonly maxOutputTokens: number;
  readonly thinking: ThinkingStyle;
}

const CACHED = { cache_control: { type: "ephemeral" } } as const;
const BUDGETS: Readonly<Record<"low" | "medium" | "high", number>> = {
  low: 2_048,
  medium: 8_192,
  high: 16_384,
};

/**
 * Builds a request for Anthropic's Messages API. The stable parts come first and are marked for caching: tools and
 * system prompt, then the conversation up to the last two user messages.
 */
export function anthropicRequest(
  { system, messages, tools, thoughtLevel, toolSearch }: ModelRequest,
  settings: AnthropicSettings,
): Anthropic.MessageCreateParamsStreaming {
  return {
    model: settings.model,
    max_tokens: settings.maxOutputTokens,
    stream: true,
    system: [{ type: "text", text: system, ...CACHED }],
    messages: cached(conversation(messages, settings.id)),
    ...(tools.length > 0 && {
      tools: [
        ...(toolSearch === undefined ? [] : [SEARCHES[toolSearch]]),
        ...tools.map(({ name, description, parameters, isDeferred }) => ({
          name,
          description,
          input_schema: { ...parameters, type: "object" as const },
          ...(isDeferred && { defer_loading: true }),
        })),
      ],
    }),
    ...thinkingOf(thoughtLevel, settings.thinking),
  };
}

/** The tools by which the API searches. */
const SEARCHES = {
  bm25: { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
  regex: { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" },
} as const;

function thinkingOf(
  level: ThoughtLevel,
  style: ThinkingStyle,
): Pick<Anthropic.MessageCreateParamsStreaming, "thinking" | "output_config"> {
  if (level === "default" || style === "none") return {};
  if (level === "off") return { thinking: { type: "disabled" } };
  if (style === "budget") return { thinking: { type: "enabled", budget_tokens: BUDGETS[level] } };
  return { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: level } };
}

/** What is returned of a search that the API did. */
const Searched = z.object({
  use: z.object({
    type: z.literal("server_tool_use"),
    id: z.string(),
    name: z.enum(["tool_search_tool_bm25", "tool_search_tool_regex"]),
    input: z.unknown(),
  }),
  result: z.object({
    type: z.literal("tool_search_tool_result"),
    tool_use_id: z.string(),
    content: z.object({
      type: z.literal("tool_search_tool_search_result"),
      tool_references: z.array(z.object({ type: z.literal("tool_reference"), tool_name: z.string() })),
    }),
  }),
});

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: Block[];
}

/** Tool results belong to the user; consecutive messages of one side are joined. */
function conversation(messages: readonly Message[], id: string): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message, id);
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) turns.push({ role, content });
  }
  return turns;
}

function blocksOf(message: Message, id: string): Block[] {
  switch (message.role) {
    case "user":
      return message.parts.flatMap(userBlock);
    case "assistant":
      return message.parts.flatMap((part) => assistantBlock(part, id));
    case "tool":
      return message.results.map(({ call, text, isError, media = [] }) => {
        const said = text === "" ? "(nothing)" : text;
        return {
          type: "tool_result",
          tool_use_id: call,
          content: media.length === 0 ? said : [{ type: "text", text: said }, ...media.map(mediaBlock)],
          is_error: isError,
        };
      });
  }
}

function mediaBlock({ mimeType, data }: MediaPart): Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam {
  if (mimeType === "application/pdf")
    return { type: "document", source: { type: "base64", media_type: mimeType, data } };
  return { type: "image", source: { type: "base64", media_type: mimeType, data } };
}

function userBlock(part: UserPart): Block[] {
  if (part.type === "text") return textBlock(part.text);
  const media_type = imageType(part.mimeType);
  if (media_type === undefined)
    return textBlock(`[an image of the type ${part.mimeType}, which cannot be shown]`);
  return [{ type: "image", source: { type: "base64", media_type, data: part.data } }];
}

function assistantBlock(part: AssistantPart, id: string): Block[] {
  switch (part.type) {
    case "text":
      return textBlock(part.text);
    case "call":
      return [{ type: "tool_use", id: part.id, name: part.name, input: parseObject(part.arguments) }];
    case "thinking":
      return part.seal?.model === id ? thoughtBlock(part.text, part.seal.data) : [];
  }
}

/** Thoughts and searches are returned unchanged or not at all. */
function thoughtBlock(thinking: string, { signature, data, search }: JsonObject): Block[] {
  const { data: searched } = Searched.safeParse(search);
  if (searched) return [searched.use, searched.result];
  if (typeof data === "string") return [{ type: "redacted_thinking", data }];
  return typeof signature === "string" ? [{ type: "thinking", thinking, signature }] : [];
}

function textBlock(text: string): Block[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

function imageType(mimeType: string): "image/jpeg" | "image/png" | "image/gif" | "image/webp" | undefined {
  return (["image/jpeg", "image/png", "image/gif", "image/webp"] as const).find((type) => type === mimeType);
}

function cached(turns: readonly Turn[]): Anthropic.MessageParam[] {
  const marked = turns.filter(({ role }) => role === "user").slice(-2);
  return turns.map((turn) => ({
    role: turn.role,
    content: marked.includes(turn)
      ? turn.content.map((block, index) =>
          index === turn.content.length - 1 && isMarkable(block) ? { ...block, ...CACHED } : block,
        )
      : turn.content,
  }));
}

function isMarkable(
  block: Block,
): block is Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.ToolResultBlockParam {
  return block.type === "text" || block.type === "image" || block.type === "tool_result";
}
