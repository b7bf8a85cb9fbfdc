import { z } from "zod";
import { isNamedWell, type KeyRecord, keyRecordOf, newKey, PublicPart } from "./key-record.ts";
import type { SecretKind } from "./private-folder.ts";

const RetiredKey = PublicPart.extend({ retired_at: z.iso.datetime() }).refine(
  isNamedWell,
  "a retired key has another's name",
);

const schema = z.strictObject({
  format: z.literal("reins-signing-keys/1"),
  holder: z.string(),
  active: keyRecordOf("Ed25519"),
  /** The key that a rotation has made and not yet put to use. */
  next: keyRecordOf("Ed25519").nullable(),
  retired: z.array(RetiredKey),
});

/** The signing keys of one holder, as they are kept: the one that signs, and what is left of those that did. */
export type SigningKeys = z.infer<typeof schema>;

/** The files that hold {@link SigningKeys}. */
export const signingKeysFile: SecretKind<SigningKeys> = {
  prefix: "signing",
  schema,
  nameOf: ({ holder }) => holder,
};

/** A holder's first key. */
export function firstSigningKeys(holder: string, seed: Uint8Array, now: Date): SigningKeys {
  const active = newKey("Ed25519", seed, now);
  return { format: "reins-signing-keys/1", holder, active, next: null, retired: [] };
}

/** The keys after a rotation: of the one that was active only the public part is left. */
export function rotateSigningKeys(keys: SigningKeys, next: KeyRecord, now: Date): SigningKeys {
  const { private_key: _gone, ...publicPart } = keys.active;
  const retired = [...keys.retired, { ...publicPart, retired_at: now.toISOString() }];
  return { ...keys, active: next, next: null, retired };
}
