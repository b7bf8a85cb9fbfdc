import { CODE, RpcError } from "@reins/acp";
import { z } from "zod";
import type { UserPart } from "../history/entry.ts";

const AbsolutePath = z.string().startsWith("/", "is an absolute path");
const Directories = z.array(AbsolutePath).max(100);
const SessionId = z.string().min(1).max(256);

/** Parameters of `initialize`, with the capabilities that we use. */
export const Initialize = z.looseObject({
  protocolVersion: z.number().optional(),
  clientCapabilities: z
    .looseObject({
      session: z.looseObject({ notices: z.unknown(), compaction: z.unknown() }).partial().nullish(),
    })
    .nullish(),
});

/** Parameters of `session/new`. */
export const NewSession = z.looseObject({
  cwd: AbsolutePath,
  additionalDirectories: Directories.nullish(),
  mcpServers: z.array(z.unknown()).nullish(),
});

/** Parameters of `session/load`, `session/resume` and `session/fork`. */
export const EarlierSession = NewSession.extend({ sessionId: SessionId, cwd: AbsolutePath.optional() });

/** Parameters of `session/list`. */
export const ListSessions = z.looseObject({
  cwd: AbsolutePath.nullish(),
  cursor: z.string().max(512).nullish(),
});

/** Parameters of methods that only name a session. */
export const OneSession = z.looseObject({ sessionId: SessionId });

/** Parameters of `session/set_mode`. */
export const SetMode = OneSession.extend({ modeId: z.string() });

/** Parameters of `session/set_config_option`. */
export const SetConfigOption = OneSession.extend({ configId: z.string(), value: z.string().min(1).max(200) });

/** Parameters of `session/prompt`. */
export const Prompt = OneSession.extend({
  prompt: z
    .array(z.looseObject({ type: z.string() }))
    .min(1)
    .max(1_000),
});

/** Parses the parameters of a method. Throws an error for the client when they are invalid. */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  params: unknown,
): z.infer<Schema> {
  const { data, error } = schema.safeParse(params);
  if (!error) return data;
  const faults = error.issues.slice(0, 5).map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new RpcError(CODE.invalidParams, `the parameters of ${method} are invalid: ${faults.join("; ")}`);
}

const Annotations = z.looseObject({ audience: z.array(z.string()).nullish() }).nullish();

const Block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string(), annotations: Annotations }),
  z.looseObject({
    type: z.literal("image"),
    data: z.string(),
    mimeType: z.string(),
    annotations: Annotations,
  }),
  z.looseObject({
    type: z.literal("resource_link"),
    uri: z.string(),
    name: z.string(),
    annotations: Annotations,
  }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.looseObject({ uri: z.string(), text: z.string().optional(), mimeType: z.string().nullish() }),
    annotations: Annotations,
  }),
]);

/**
 * Converts the blocks of a prompt. Blocks for the assistant alone and attached files are context, not the user's words.
 */
export function promptParts(
  blocks: readonly unknown[],
  { images }: { readonly images: boolean },
): readonly UserPart[] {
  return blocks.map((block) => {
    const { data, error } = Block.safeParse(block);
    if (!error) return partOf(data, images);
    throw new RpcError(
      CODE.invalidParams,
      `a block of the prompt cannot be read: ${error.issues[0]?.message}`,
    );
  });
}

function partOf(block: z.infer<typeof Block>, images: boolean): UserPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text, ...(isForAssistant(block.annotations) && { context: true }) };
    case "image":
      if (images) return { type: "image", data: block.data, mimeType: block.mimeType };
      return context(`[an image of the type ${block.mimeType}, which this model cannot see]`);
    case "resource_link":
      return context(`[a link to ${block.name}: ${block.uri}]`);
    case "resource":
      return context(`[the content of ${block.resource.uri}]\n${block.resource.text ?? "(no text)"}`);
  }
}

function context(text: string): UserPart {
  return { type: "text", text, context: true };
}

function isForAssistant(annotations: z.infer<typeof Annotations>): boolean {
  const audience = annotations?.audience ?? [];
  return audience.length > 0 && !audience.includes("user");
}
