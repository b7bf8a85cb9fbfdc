import { z } from "zod";
import type { SecretKind } from "./private-folder.ts";
import { type Curve, KEY_LENGTH, keyIdOf, privateKeyFrom, publicBytesOf } from "./signer.ts";

const rawKey = z.base64().refine((text) => Buffer.from(text, "base64").length === KEY_LENGTH, {
  message: `a key is ${KEY_LENGTH} bytes in base64`,
  abort: true,
});

/** The public part of a key, as it is kept. */
const PublicPart = z.strictObject({
  key_id: z.string(),
  public_key: rawKey,
  created_at: z.iso.datetime(),
});

/** A key with its private part, as it is kept: raw bytes in base64. */
export type KeyRecord = z.infer<typeof PublicPart> & { private_key: string };

/** Keys of a curve as they are kept, whose parts belong together. */
export function keyRecordOf(curve: Curve): z.ZodType<KeyRecord> {
  return PublicPart.extend({ private_key: rawKey }).refine((key) => {
    const publicKey = publicBytesOf(privateKeyFrom(curve, Buffer.from(key.private_key, "base64")));
    return isNamedWell(key) && Buffer.from(publicKey).toString("base64") === key.public_key;
  }, "the parts of a key do not belong together");
}

/** Whether a key's id is that of its public part. */
function isNamedWell({ key_id, public_key }: Pick<KeyRecord, "key_id" | "public_key">): boolean {
  return keyIdOf(Buffer.from(public_key, "base64")) === key_id;
}

/** A new key from 32 unpredictable bytes. */
export function newKey(curve: Curve, raw: Uint8Array, now: Date): KeyRecord {
  const publicKey = publicBytesOf(privateKeyFrom(curve, raw));
  return {
    key_id: keyIdOf(publicKey),
    public_key: Buffer.from(publicKey).toString("base64"),
    created_at: now.toISOString(),
    private_key: Buffer.from(raw).toString("base64"),
  };
}

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
