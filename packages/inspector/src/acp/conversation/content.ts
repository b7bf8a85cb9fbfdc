import { metaOf, type ReinsMeta, readContent, reinsMeta } from "@reins/acp";

/** What Reins says in `_meta.reins` about an action, or about a message of its own. */
export type Annotation = ReinsMeta;

/** An annotation with a verdict. */
export type Verdict = Partial<Annotation> & { readonly verdict: string };

const UNKNOWN = "[unknown content]";

/** A content block as text. Nothing is loaded: an image is named, not drawn. */
export function contentText(block: unknown): string {
  const { type, text, uri, name, mimeType, resource } = readContent(block);
  switch (type) {
    case "text":
      return text ?? UNKNOWN;
    case "resource_link":
      return uri === undefined ? UNKNOWN : `[${name ?? uri}]`;
    case "resource":
      return resource.text ?? (resource.uri === undefined ? UNKNOWN : `[${resource.uri}]`);
    case "image":
    case "audio":
      return `[${type} (${mimeType ?? "unknown type"})]`;
    default:
      return UNKNOWN;
  }
}

/** Reads the annotation of a message; `undefined` if there is none. */
export function annotationIn(message: unknown): Annotation | undefined {
  return metaOf(message).reins === undefined ? undefined : reinsMeta(message);
}

/** Adds the annotation of a message to a verdict, such as that an allowed call was interrupted. */
export function verdictWith(known: Verdict | undefined, message: unknown): Verdict | undefined {
  const said = annotationIn(message);
  const verdict = said?.verdict ?? known?.verdict;
  return said && verdict !== undefined ? { ...known, ...said, verdict } : known;
}
