import { z } from "zod";
import { keyIdOf } from "./key-id.ts";
import { type Curve, KEY_LENGTH, privateKeyFrom, publicBytesOf } from "./raw-key.ts";

const rawKey = z.base64().refine((text) => Buffer.from(text, "base64").length === KEY_LENGTH, {
  message: `a key is ${KEY_LENGTH} bytes in base64`,
  abort: true,
});

/** The public part of a key, as it is kept. */
export const PublicPart = z.strictObject({
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

/** Whether a key has the name that its public part gives it. */
export function isNamedWell({ key_id, public_key }: Pick<KeyRecord, "key_id" | "public_key">): boolean {
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
