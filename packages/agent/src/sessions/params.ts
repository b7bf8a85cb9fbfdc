import { z } from "zod";
import type { JsonObject } from "../acp/message.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";

const AbsolutePath = z.string().startsWith("/", "is an absolute path");
const Directories = z.array(AbsolutePath).max(100);
const SessionId = z.string().min(1).max(256);

/** How a client says hello; of what it can do, what we make use of. */
export const Initialize = z.looseObject({
  protocolVersion: z.number().optional(),
  clientCapabilities: z
    .looseObject({
      session: z.looseObject({ notices: z.unknown(), compaction: z.unknown() }).partial().nullish(),
    })
    .nullish(),
});

/** How a session is begun. */
export const NewSession = z.looseObject({
  cwd: AbsolutePath,
  additionalDirectories: Directories.nullish(),
  mcpServers: z.array(z.unknown()).nullish(),
});

/** How a session is taken up again, or forked. */
export const EarlierSession = NewSession.extend({ sessionId: SessionId, cwd: AbsolutePath.optional() });

/** Which sessions are to be listed. */
export const ListSessions = z.looseObject({
  cwd: AbsolutePath.nullish(),
  cursor: z.string().max(512).nullish(),
});

/** Which session. */
export const OneSession = z.looseObject({ sessionId: SessionId });

/** A mode to work in. */
export const SetMode = OneSession.extend({ modeId: z.string() });

/** An option to be set. */
export const SetConfigOption = OneSession.extend({ configId: z.string(), value: z.string().min(1).max(200) });

/** A prompt. */
export const Prompt = OneSession.extend({
  prompt: z
    .array(z.looseObject({ type: z.string() }))
    .min(1)
    .max(1_000),
});

/** Reads the parameters of a method; what does not fit is said to whoever called it. */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  params: JsonObject,
): z.infer<Schema> {
  const { data, error } = schema.safeParse(params);
  if (!error) return data;
  const faults = error.issues.slice(0, 5).map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new RpcError(CODE.invalidParams, `${method} does not take that: ${faults.join("; ")}`);
}
