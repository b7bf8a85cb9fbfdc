import { isRecord } from "@reins/kit";
import { referenceIn } from "../artifacts/private-reference.ts";

/** Reads private content as it is kept: salt, then content. */
export interface ArtifactReader {
  readRaw(digest: string): Promise<Uint8Array | undefined>;
}

/** The digests of the private content that a payload refers to. */
export function* privateDigests(payload: unknown): Generator<string> {
  const reference = referenceIn(payload);
  if (reference) yield reference.digest;
  else if (Array.isArray(payload)) for (const item of payload) yield* privateDigests(item);
  else if (isRecord(payload)) for (const member of Object.values(payload)) yield* privateDigests(member);
}
