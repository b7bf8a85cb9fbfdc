import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { QUEUE_FULL, REFUSED, SESSION_MODES } from "@reins/host";
import { errorMessage } from "@reins/kit";
import { faultSentences } from "@reins/supervisor";
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

const Key = z.string().min(1).max(256);

/** How a session is begun, or found. */
export const InitParams = z.looseObject({
  agent_id: z.string().min(1).max(128),
  session_key: Key.optional(),
  model: z.string().min(1).max(200).optional(),
  mode: z.enum(SESSION_MODES).optional(),
  /** The agent behind the session: `native`, or one that is installed. */
  backend: z.string().min(1).max(64).optional(),
  /** The folder it works in, absolute. */
  cwd: z.string().startsWith("/", "is an absolute path").optional(),
});
export type InitParams = z.infer<typeof InitParams>;

const Tool = z.looseObject({
  name: z.string().min(1).max(128),
  description: z.string().max(65_536).default(""),
  input_schema: z.record(z.string(), z.unknown()).default({ type: "object" }),
});

/** A turn: what is said in it, and the tools for it. */
export const RunParams = z
  .looseObject({
    session_key: Key,
    message: UserMessage.optional(),
    messages: z.array(Message).min(1).max(10_000).optional(),
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

/** Which session. */
export const SessionParams = z.looseObject({ session_key: Key });

/** Which session, and why it is closed. */
export const CloseParams = SessionParams.extend({ reason: z.string().max(1_000).optional() });

/** Reads what a client sent; what does not fit is said to it. */
export function readParams<Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  params: unknown,
): z.output<Schema> {
  const { data, error } = schema.safeParse(params ?? {});
  if (!error) return data;
  throw new HaakError("invalid_params", `${method} does not take that: ${faultSentences(error, "params")}`);
}

/** What happens in a turn, as `/ws` tells it: HAAK's types, and those of its own that others pass over. */
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
  | PolicyGateEvent
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

/** What the policy said to a tool: when it was offered, or when it was called. */
interface PolicyGateEvent {
  readonly type: "policy_gate";
  readonly tool: string;
  readonly verdict: string;
  readonly rule: string | null;
  readonly reason: string;
  readonly constitution_hash: string | null;
}

/** An event at its place: `seq` grows with every event of a session. */
export type NumberedEvent = HaakEvent & { readonly seq: number };

/** Takes events. A promise says that there is no room for more until it settles. */
export type Emit = (event: NumberedEvent) => void | Promise<void>;

/** What can go wrong on `/ws`. */
export type HaakErrorCode =
  /** What was sent is no JSON, or no request. */
  | "invalid_request"
  | "method_not_found"
  | "invalid_params"
  /** There is no session of that key that the caller may see. */
  | "session_not_found"
  /** The key is somebody else's, or names a session of another agent. */
  | "session_conflict"
  /** The session was closed; `session.init` opens it again. */
  | "session_closed"
  /** Eight turns wait already. */
  | "queue_full"
  /** The constitution or the caller's rights do not allow it. */
  | "refused"
  /** Whoever asks may no more. */
  | "unauthenticated"
  /** The agent behind the session cannot be had. */
  | "backend_unavailable"
  | "internal";

/** An error as `/ws` tells it: a word for programs and a sentence for people. */
export class HaakError extends Error {
  override readonly name = "HaakError";
  readonly code: HaakErrorCode;

  constructor(code: HaakErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** What a failure is on `/ws`. */
  static of(error: unknown): HaakError {
    if (error instanceof HaakError) return error;
    const message = errorMessage(error);
    return new HaakError(codeOf(error), message, { cause: error });
  }
}

const CODES: ReadonlyMap<unknown, HaakErrorCode> = new Map<unknown, HaakErrorCode>([
  [QUEUE_FULL, "queue_full"],
  [REFUSED, "refused"],
  [CODE.invalidParams, "invalid_params"],
  [CODE.notFound, "session_not_found"],
  [CODE.authRequired, "unauthenticated"],
]);

function codeOf(error: unknown): HaakErrorCode {
  return (error instanceof RpcError ? CODES.get(error.code) : undefined) ?? "internal";
}
