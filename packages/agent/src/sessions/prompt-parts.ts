import { z } from "zod";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { UserPart } from "../history/part.ts";

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
 * What a prompt of a client is to a model. A block that is meant for the assistant alone is none of the person's words;
 * neither is a file that comes along.
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
