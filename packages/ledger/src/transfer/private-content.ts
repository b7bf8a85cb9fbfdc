import { isRecord } from "../is-record.ts";

/** Reads private content as it is kept: salt, then content. */
export interface ArtifactReader {
  readRaw(digest: string): Promise<Uint8Array | undefined>;
}

/** The digests of the private content that a payload refers to. */
export function* privateDigests(payload: unknown): Generator<string> {
  if (Array.isArray(payload)) {
    for (const item of payload) yield* privateDigests(item);
    return;
  }
  if (!isRecord(payload)) return;
  const reference = payload.$private;
  if (isRecord(reference) && typeof reference.digest === "string") yield reference.digest;
  else for (const member of Object.values(payload)) yield* privateDigests(member);
}
