import { z } from "zod";

/** A content block: text, or something shown by its name. */
type Content =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "link"; readonly name: string; readonly uri: string }
  | { readonly kind: "other"; readonly what: string };

const Block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("resource_link"), uri: z.string(), name: z.string().optional() }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.looseObject({ uri: z.string(), text: z.string().optional() }),
  }),
  z.looseObject({ type: z.literal("image"), mimeType: z.string().optional() }),
  z.looseObject({ type: z.literal("audio"), mimeType: z.string().optional() }),
]);

/** Parses a content block. Nothing is loaded: an image is named, not drawn. */
export function parseContent(block: unknown): Content {
  const read = Block.safeParse(block);
  if (!read.success) return { kind: "other", what: "unknown content" };
  const { data } = read;
  switch (data.type) {
    case "text":
      return { kind: "text", text: data.text };
    case "resource_link":
      return { kind: "link", name: data.name ?? data.uri, uri: data.uri };
    case "resource":
      return data.resource.text === undefined
        ? { kind: "link", name: data.resource.uri, uri: data.resource.uri }
        : { kind: "text", text: data.resource.text };
    default:
      return { kind: "other", what: `${data.type} (${data.mimeType ?? "unknown type"})` };
  }
}

/** Renders a content block as text. */
export function contentText(content: Content): string {
  if (content.kind === "text") return content.text;
  return content.kind === "link" ? `[${content.name}]` : `[${content.what}]`;
}

/** The harness's annotation of an action, or of a message of its own, under `_meta.reins`. */
const Annotation = z.looseObject({
  verdict: z.string().optional(),
  reason: z.string().optional(),
  rule: z.string().nullish(),
  enforcement: z.string().optional(),
  entry: z.string().optional(),
  approval: z.string().optional(),
  ungated: z.boolean().optional(),
  interrupted: z.boolean().optional(),
  prompt: z.string().optional(),
});

export type Annotation = z.infer<typeof Annotation>;

export interface Verdict extends Annotation {
  readonly verdict: string;
}

const Carrier = z.looseObject({ _meta: z.looseObject({ reins: Annotation }) });

/** Reads the annotation of a message; `undefined` if there is none or it does not parse. */
export function annotationIn(message: unknown): Annotation | undefined {
  const read = Carrier.safeParse(message);
  return read.success ? read.data._meta.reins : undefined;
}

/** Reads the verdict of a message. */
export function verdictIn(message: unknown): Verdict | undefined {
  const said = annotationIn(message);
  return said?.verdict === undefined ? undefined : { ...said, verdict: said.verdict };
}
