import { createHash } from "node:crypto";

/** A credential file of the user's that an agent gets a copy of. */
export interface Credential {
  /** The user's own file. */
  readonly from: string;
  /** Where the copy is, relative to the private home. */
  readonly to: string;
}

/** The three states of a credential: the user's file, the agent's copy, and the digest of what was copied last. */
export interface CredentialState {
  readonly source: Buffer | undefined;
  readonly copy: Buffer | undefined;
  readonly projected: string | undefined;
}

/**
 * What is to be done before an agent starts. `collect`: the agent had renewed its copy and nobody took it back yet,
 * for instance because Reins was killed.
 */
export type Projection = "keep" | "project" | "collect";

/** What is to be done with a copy after an agent ran. */
export type Collection =
  | "unchanged"
  | "collected"
  /** Both the user and the agent changed it; the user's stays as it is. */
  | "conflict"
  /** The copy is not something that could replace the user's file. */
  | "unusable";

/** Names a content. */
export function contentDigest(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** What to do with a credential before an agent starts. */
export function projectionOf({ source, copy, projected }: CredentialState): Projection {
  if (source === undefined) return "keep";
  if (copy === undefined) return "project";
  if (source.equals(copy)) return "keep";
  return collectionOf({ source, copy, projected }) === "collected" ? "collect" : "project";
}

/** What to do with a credential after an agent ran. */
export function collectionOf({ source, copy, projected }: CredentialState): Collection {
  if (copy === undefined || projected === undefined || contentDigest(copy) === projected) return "unchanged";
  if (source === undefined || contentDigest(source) !== projected) return "conflict";
  return isWhole(copy, source) ? "collected" : "unusable";
}

/** Whether a copy was written to its end, as far as one can tell. */
function isWhole(copy: Buffer, source: Buffer): boolean {
  return copy.length > 0 && (isJson(copy) || !isJson(source));
}

function isJson(content: Buffer): boolean {
  try {
    JSON.parse(content.toString());
    return true;
  } catch {
    return false;
  }
}
