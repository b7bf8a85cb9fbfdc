import type { JsonObject } from "@reins/acp";
import { type ContentBlock, type Message, resultText } from "./protocol.ts";

/** What came of a tool that the client carried out. */
export interface ToolResult {
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
}

/** What a client says in a turn. */
export interface Said {
  /** The parts of the prompt, as ACP has them. */
  readonly prompt: readonly JsonObject[];
  /** What came of tools that an earlier turn wanted of it. */
  readonly results: readonly ToolResult[];
  /** What was said before, for a session that does not know it. */
  readonly earlier: string | undefined;
}

/** How much of a conversation that was had elsewhere a session is told; of more than that, the newest. */
const MAX_EARLIER = 24_000;
const SPEAKERS = { user: "User", assistant: "You", system: "System" } as const;

/** Takes messages apart: what is new stands after the last thing that the assistant said. */
export function saidIn(messages: readonly Message[]): Said {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const fresh = messages.slice(last + 1).flatMap(({ content }) => content);
  return {
    prompt: fresh.flatMap(promptBlock),
    results: fresh.flatMap((block) =>
      block.type === "tool_result"
        ? [{ id: block.tool_use_id, text: resultText(block), isError: block.is_error ?? false }]
        : [],
    ),
    earlier: last < 0 ? undefined : transcript(messages.slice(0, last + 1)),
  };
}

/** A result that nobody waits for, in words, so that nothing the client says is lost. */
export function resultBlock({ id, text, isError }: ToolResult): JsonObject {
  return { type: "text", text: `${isError ? `The call ${id} failed` : `The result of ${id}`}:\n${text}` };
}

function promptBlock(block: ContentBlock): readonly JsonObject[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image") return [];
  const { data, media_type: mimeType } = block.source;
  return [{ type: "image", data, mimeType }];
}

function transcript(messages: readonly Message[]): string {
  const lines = messages.map(({ role, content }) => `${SPEAKERS[role]}: ${content.map(words).join("\n")}`);
  const all = lines.join("\n\n");
  const kept = all.length > MAX_EARLIER ? `[…]\n${all.slice(-MAX_EARLIER)}` : all;
  return `What was said before, elsewhere:\n\n${kept}`;
}

function words(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return "";
    case "image":
      return `[${block.source.media_type}]`;
    case "tool_use":
      return `[${block.name} ${JSON.stringify(block.input)}]`;
    case "tool_result":
      return resultText(block);
  }
}
