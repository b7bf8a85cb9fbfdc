import { SESSION_MODES } from "@reins/host";
import { faultSentences } from "@reins/supervisor";
import { z } from "zod";
import { HaakError } from "./haak-error.ts";
import { Message, UserMessage } from "./message.ts";

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
