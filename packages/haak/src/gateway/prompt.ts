import type { JsonObject } from "@reins/acp";
import { type ChatMessage, type ContentBlock, toolResultText } from "./protocol.ts";

/** The result of a tool that the client ran. */
export interface ClientToolResult {
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
}

/** The input of a turn. */
export interface TurnInput {
  /** The blocks of the ACP prompt. */
  readonly prompt: readonly JsonObject[];
  /** Results of tools that an earlier turn requested. */
  readonly results: readonly ClientToolResult[];
  /** A transcript of earlier messages, for a new session. */
  readonly earlier: string | undefined;
}

/** The most characters of an earlier conversation that a session gets; older ones are cut. */
const MAX_EARLIER = 24_000;
const SPEAKERS = { user: "User", assistant: "You", system: "System" } as const;

/** Splits messages into the turn's input, after the last message of the assistant, and the transcript before it. */
export function turnInput(messages: readonly ChatMessage[]): TurnInput {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const fresh = messages.slice(last + 1).flatMap(({ content }) => content);
  return {
    prompt: fresh.flatMap(promptBlock),
    results: fresh.flatMap((block) =>
      block.type === "tool_result"
        ? [{ id: block.tool_use_id, text: toolResultText(block), isError: block.is_error ?? false }]
        : [],
    ),
    earlier: last < 0 ? undefined : transcript(messages.slice(0, last + 1)),
  };
}

/** A prompt block for a result that no call waits for, so that no input is lost. */
export function resultBlock({ id, text, isError }: ClientToolResult): JsonObject {
  return { type: "text", text: `${isError ? `The call ${id} failed` : `The result of ${id}`}:\n${text}` };
}

function promptBlock(block: ContentBlock): readonly JsonObject[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image") return [];
  const { data, media_type: mimeType } = block.source;
  return [{ type: "image", data, mimeType }];
}

function transcript(messages: readonly ChatMessage[]): string {
  const lines = messages.map(
    ({ role, content }) => `${SPEAKERS[role]}: ${content.map(blockText).join("\n")}`,
  );
  const all = lines.join("\n\n");
  const kept = all.length > MAX_EARLIER ? `[…]\n${all.slice(-MAX_EARLIER)}` : all;
  return `What was said before, elsewhere:\n\n${kept}`;
}

function blockText(block: ContentBlock): string {
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
      return toolResultText(block);
  }
}
