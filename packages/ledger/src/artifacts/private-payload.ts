import { parseStored, StoreError } from "@reins/store";
import { z } from "zod";
import { canonicalJson } from "../canonical.ts";
import type { Draft, ParentlessContent } from "../entry.ts";
import { LedgerError } from "../ledger-error.ts";
import { assertPlainJson } from "../plain-json.ts";
import type { ArtifactReference, ArtifactStore } from "./artifact-store.ts";

const schema = z.strictObject({
  $private: z.strictObject({
    digest: z.string().regex(/^[0-9a-f]{64}$/),
    size: z.int().nonnegative(),
  }),
});

/** What replaces private content in a payload. */
type PrivateReference = z.infer<typeof schema>;

/** The value that stands for an artifact in a payload. */
export function privateReference({ digest, size }: ArtifactReference): PrivateReference {
  return { $private: { digest, size } };
}

/** The artifact that a value stands for; `undefined` when it stands for itself. */
export function referenceIn(value: unknown): ArtifactReference | undefined {
  return hasPrivateMember(value) ? schema.safeParse(value).data?.$private : undefined;
}

/** Whether a value could be taken for a reference, well-formed or not. */
function hasPrivateMember(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "$private");
}

/** The path of a value in a payload: member names and indexes from the outside in. */
export type PayloadPath = readonly (string | number)[];

/** What to put in the place of a value, or `undefined` to keep it and look inside. */
type Replacement = (value: unknown, path: PayloadPath) => Promise<{ readonly value: unknown } | undefined>;

/** A copy of a plain JSON value with parts of it replaced, one after the other. What was put in is not looked into. */
async function replaceParts(
  value: unknown,
  replacement: Replacement,
  path: PayloadPath = [],
): Promise<unknown> {
  const replaced = await replacement(value, path);
  if (replaced) return replaced.value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const [index, item] of value.entries())
      items.push(await replaceParts(item, replacement, [...path, index]));
    return items;
  }
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value))
    members.push([name, await replaceParts(member, replacement, [...path, name])]);
  return Object.fromEntries(members);
}

/** A payload without its private parts. */
interface Withheld {
  readonly payload: unknown;
  /** What its private parts became; to be erased should the payload never be recorded. */
  readonly artifacts: readonly ArtifactReference[];
}

/**
 * Keeps the private parts of a payload as artifacts, in their canonical JSON form, and leaves references in their
 * place. A part that could be taken for a reference is treated as private too, so a writer cannot point at another's content
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
    return parseStored(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content));
  } catch {
    return otherwise;
  }
}

/** Where private content goes. */
export interface ProtectionOptions {
  readonly artifacts?: ArtifactStore;
}

/** Keeps the private parts of the payloads of one commit; the artifacts made for it are erased should it fail. */
export class PayloadProtection {
  readonly #store: ArtifactStore;
  readonly #artifacts: string[] = [];

  constructor({ artifacts }: ProtectionOptions) {
    if (!artifacts) throw new LedgerError("invalid", "this ledger has no place for private content");
    this.#store = artifacts;
  }

  /** Moves private parts into artifacts. */
  async protect({ isPrivate = () => false }: Draft, content: ParentlessContent): Promise<ParentlessContent> {
    const { payload, artifacts } = await withhold(this.#store, content.payload, isPrivate);
    this.#artifacts.push(...artifacts.map(({ digest }) => digest));
    return { ...content, payload };
  }

  /** Erases the artifacts of a commit that failed. After a failure of the disk it may have been written, so they stay. */
  async undo(error: unknown): Promise<void> {
    if (error instanceof StoreError && error.code === "io") return;
    await Promise.allSettled(this.#artifacts.map((digest) => this.#store.erase(digest)));
  }
}
