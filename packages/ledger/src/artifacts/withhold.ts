import { canonicalJson } from "../canonical.ts";
import { LedgerError } from "../ledger-error.ts";
import { assertPlainJson } from "../plain-json.ts";
import type { ArtifactReference, ArtifactStore } from "./artifact-store.ts";
import { hasPrivateMember, privateReference, referenceIn } from "./private-reference.ts";
import { type PayloadPath, replaceParts } from "./replace.ts";

/** A payload without its private parts. */
export interface Withheld {
  readonly payload: unknown;
  /** What its private parts became; to be erased should the payload never be recorded. */
  readonly artifacts: readonly ArtifactReference[];
}

/**
 * Keeps the private parts of a payload as artifacts, in their canonical JSON form, and leaves references in their
 * place. A part that could be taken for a reference is treated as private too, so nobody can point at another's content
 * by writing a reference of their own.
 */
export async function withhold(
  store: ArtifactStore,
  payload: unknown,
  isPrivate: (value: unknown, path: PayloadPath) => boolean,
): Promise<Withheld> {
  assertPlainJson(payload);
  const artifacts: ArtifactReference[] = [];
  try {
    const rest = await replaceParts(payload, async (value, path) => {
      if (!hasPrivateMember(value) && !isPrivate(value, path)) return undefined;
      const artifact = await store.put(Buffer.from(canonicalJson(value)));
      artifacts.push(artifact);
      return { value: privateReference(artifact) };
    });
    return { payload: rest, artifacts };
  } catch (error) {
    // The failure is what matters; what cannot be erased now is content that no entry refers to.
    await Promise.allSettled(artifacts.map(({ digest }) => store.erase(digest)));
    throw error;
  }
}

/**
 * A payload with its private parts put back. Where one was erased the reference stays, marked `"withheld": true`; where
 * one holds no JSON, because it was kept without {@link withhold}, the reference stays as it is.
 */
export async function reveal(store: ArtifactStore, payload: unknown): Promise<unknown> {
  assertPlainJson(payload);
  return replaceParts(payload, async (value) => {
    const reference = referenceIn(value);
    if (!reference) return undefined;
    const content = await store.get(reference.digest);
    if (!content) return { value: { ...privateReference(reference), withheld: true } };
    if (content.length !== reference.size)
      throw new LedgerError("corrupt", `The artifact ${reference.digest} is not as long as its entry says.`);
    return { value: valueIn(content, value) };
  });
}

function valueIn(content: Uint8Array, otherwise: unknown): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content));
  } catch {
    return otherwise;
  }
}
