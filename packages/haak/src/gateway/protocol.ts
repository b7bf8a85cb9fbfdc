import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { QUEUE_FULL, REFUSED, SESSION_MODES } from "@reins/host";
import { errorMessage, faultSentences } from "@reins/kit";
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

const ContentBlock = z.discriminatedUnion("type", [
  TextBlock,
  ThinkingBlock,
  ImageBlock,
  ToolUseBlock,
  ToolResultBlock,
]);
type ContentBlock = z.infer<typeof ContentBlock>;

/** The blocks of a message; a string is short for one text block. */
const Content = z
  .union([z.string(), z.array(ContentBlock).max(1_000)])
  .transform((content): readonly ContentBlock[] =>
    typeof content === "string" ? [{ type: "text", text: content }] : content,
  );

export const ChatMessage = z.looseObject({ role: z.enum(["user", "assistant", "system"]), content: Content });
export type ChatMessage = z.infer<typeof ChatMessage>;

/** A message of the user, or only its text. */
export const UserMessage = z.union([
  z.string().transform((text): ChatMessage => ({ role: "user", content: [{ type: "text", text }] })),
  z.looseObject({ role: z.literal("user").default("user"), content: Content }),
]);

/** The text of a tool result. */
export function toolResultText({ content }: z.infer<typeof ToolResultBlock>): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((part) => ("text" in part ? String(part.text) : `[${part.type}]`)).join("\n");
}

const Key = z.string().min(1).max(256);

/** The parameters of `session.init`. */
export const InitParams = z.looseObject({
  agent_id: z.string().min(1).max(128),
  session_key: Key.optional(),
  model: z.string().min(1).max(200).optional(),
  mode: z.enum(SESSION_MODES).optional(),
  /** The agent behind the session: `native`, or one that is installed. */
  backend: z.string().min(1).max(64).optional(),
  /** The working folder, absolute. */
  cwd: z.string().startsWith("/", "is an absolute path").optional(),
});
export type InitParams = z.infer<typeof InitParams>;

const Tool = z.looseObject({
  name: z.string().min(1).max(128),
  description: z.string().max(65_536).default(""),
  input_schema: z.record(z.string(), z.unknown()).default({ type: "object" }),
});

/** The parameters of `turn.run`. */
export const RunParams = z
  .looseObject({
    session_key: Key,
    message: UserMessage.optional(),
    messages: z.array(ChatMessage).min(1).max(10_000).optional(),
    tools: z.array(Tool).max(200).optional(),
  })
  .refine(({ message, messages }) => message !== undefined || messages !== undefined, {
    message: "is needed, or messages",
    path: ["message"],
  })
  .refine(({ message, messages }) => message === undefined || messages === undefined, {
    message: "and messages are both there; send one of the two",
    path: ["message"],
  });
export type RunParams = z.infer<typeof RunParams>;

/** The parameters of `turn.cancel` and `session.status`. */
export const SessionParams = z.looseObject({ session_key: Key });

/** The parameters of `session.close`. */
export const CloseParams = SessionParams.extend({ reason: z.string().max(1_000).optional() });

/** Parses the parameters of a request. Throws `invalid_params` with every fault. */
export function parseParams<Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  params: unknown,
): z.output<Schema> {
  const { data, error } = schema.safeParse(params ?? {});
  if (!error) return data;
  throw new HaakError("invalid_params", `${method} does not take that: ${faultSentences(error, "params")}`);
}

/** An event of a turn on `/ws`: HAAK's types, and Reins's own, which HAAK's clients ignore. */
export type HaakEvent =
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "reasoning_delta"; readonly text: string }
  | { readonly type: "tool_call"; readonly id: string; readonly name: string; readonly input: unknown }
  | ({ readonly type: "tool_call_update"; readonly id: string } & JsonObject)
  | {
      readonly type: "tool_result";
      readonly id: string;
      readonly content: string;
      readonly is_error: boolean;
    }
  | ({ readonly type: "usage_update" } & JsonObject)
  | {
      /** The verdict on a tool that is offered or called. */
      readonly type: "policy_gate";
      readonly tool: string;
      readonly verdict: string;
      readonly rule: string | null;
      readonly reason: string;
      readonly constitution_hash: string | null;
    }
  | {
      readonly type: "mailbox_injected";
      readonly message_id: string;
      readonly from: string;
      readonly subject: string;
      readonly timestamp: string;
    }
  | { readonly type: "ledger_append"; readonly cid: string; readonly quality: string }
  | { readonly type: "done"; readonly stop_reason: string; readonly usage: JsonObject }
  | { readonly type: "error"; readonly code: string; readonly message: string };

/** An event with its number, which grows with every event of a session. */
export type NumberedEvent = HaakEvent & { readonly seq: number };

/** Receives events. A returned promise is back-pressure: the next event waits for it. */
export type Emit = (event: NumberedEvent) => void | Promise<void>;

/** The error codes of `/ws`. */
export type HaakErrorCode =
  /** The frame is not JSON, or not a request. */
  | "invalid_request"
  | "method_not_found"
  | "invalid_params"
  /** The caller may see no session of that key. */
  | "session_not_found"
  /** The key belongs to another user, or to a session of another agent. */
  | "session_conflict"
  /** The session was closed; `session.init` opens it again. */
  | "session_closed"
  | "queue_full"
  /** The constitution or the caller's rights forbid it. */
  | "refused"
  | "unauthenticated"
  /** The agent behind the session is not available. */
  | "backend_unavailable"
  | "internal";

const CODES: ReadonlyMap<unknown, HaakErrorCode> = new Map<unknown, HaakErrorCode>([
  [QUEUE_FULL, "queue_full"],
  [REFUSED, "refused"],
  [CODE.invalidParams, "invalid_params"],
  [CODE.notFound, "session_not_found"],
  [CODE.authRequired, "unauthenticated"],
]);

/** An error of `/ws`: a code for programs and a message for people. */
export class HaakError extends Error {
  override readonly name = "HaakError";
  readonly code: HaakErrorCode;

  constructor(code: HaakErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Maps any error to one of `/ws`; an unknown one is `internal`. */
  static of(error: unknown): HaakError {
    if (error instanceof HaakError) return error;
    const code = error instanceof RpcError ? CODES.get(error.code) : undefined;
    return new HaakError(code ?? "internal", errorMessage(error), { cause: error });
  }
}

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
