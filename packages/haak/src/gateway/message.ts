import { z } from "zod";

const TextBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
const ThinkingBlock = z.looseObject({ type: z.literal("thinking"), thinking: z.string() });
const ImageBlock = z.looseObject({
  type: z.literal("image"),
  source: z.looseObject({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
});
const ToolUseBlock = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
});
const ToolResultBlock = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).optional(),
  is_error: z.boolean().optional(),
});

/** A part of a message. */
const ContentBlock = z.discriminatedUnion("type", [
  TextBlock,
  ThinkingBlock,
  ImageBlock,
  ToolUseBlock,
  ToolResultBlock,
]);
export type ContentBlock = z.infer<typeof ContentBlock>;

/** What a message says: its parts, for which a text alone is short. */
const Content = z
  .union([z.string(), z.array(ContentBlock).max(1_000)])
  .transform((content): readonly ContentBlock[] =>
    typeof content === "string" ? [{ type: "text", text: content }] : content,
  );

/** A message of a conversation. */
export const Message = z.looseObject({ role: z.enum(["user", "assistant", "system"]), content: Content });
export type Message = z.infer<typeof Message>;

/** A message of the user: a text alone will do. */
export const UserMessage = z.union([
  z.string().transform((text): Message => ({ role: "user", content: [{ type: "text", text }] })),
  z.looseObject({ role: z.literal("user").default("user"), content: Content }),
]);

/** The text of a tool's result. */
export function resultText({ content }: z.infer<typeof ToolResultBlock>): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((part) => ("text" in part ? String(part.text) : `[${part.type}]`)).join("\n");
}
