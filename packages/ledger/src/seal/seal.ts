import { randomBytes as machineRandomBytes } from "node:crypto";
import { parseStored } from "@reins/store";
import { canonicalJson } from "../canonical.ts";
import { Envelope, type LedgerEntry } from "../entry.ts";
import { KEY_LENGTH, privateKeyFrom, publicBytesOf } from "../keys/signer.ts";
import { LedgerError } from "../ledger-error.ts";
import { assertPlainJson } from "../plain-json.ts";
import {
  decrypt,
  type EncryptedKey,
  encrypt,
  fromBase64url,
  NONCE_LENGTH,
  parseEncryptedKey,
  printEncryptedKey,
  sharedSecret,
  toBase64url,
  wrappingKey,
} from "./encryption.ts";

/** The members of its entry that a sealed payload is bound to; moved to another entry it does not open. */
export type SealedContext = Pick<LedgerEntry, "actor" | "entity_id" | "quality" | "target" | "timestamp">;

/** The additional data of a sealed payload. */
export function additionalDataOf(context: SealedContext, audience_label: string): Uint8Array {
  const { actor, entity_id, quality, target, timestamp } = context;
  return Buffer.from(canonicalJson({ actor, audience_label, entity_id, quality, target, timestamp }));
}

const NOTHING = new Uint8Array();

/** Whom a payload is sealed for: an audience's label and its present public key. Plain data, no secret. */
export interface Recipient {
  readonly label: string;
  readonly keyId: string;
  /** The raw 32 bytes. */
  readonly publicKey: Uint8Array;
}

/** A key of an audience with its private part, as its members have it. */
export interface AudienceKey extends Recipient {
  /** The raw 32 bytes. */
  readonly privateKey: Uint8Array;
}

/** Seals a payload for an audience, bound to the entry it is for. */
export function sealFor(
  recipient: Recipient,
  payload: unknown,
  context: SealedContext,
  randomBytes: (size: number) => Uint8Array = machineRandomBytes,
): Envelope {
  assertPlainJson(payload);
  const { label, keyId, publicKey: audience } = recipient;
  const ephemeralPrivate = randomBytes(KEY_LENGTH);
  const ephemeral = publicBytesOf(privateKeyFrom("X25519", ephemeralPrivate));
  const wrapping = wrappingKey(sharedSecret(ephemeralPrivate, audience), { ephemeral, audience, label });
  const contentKey = randomBytes(KEY_LENGTH);
  const wrapped = encrypt(wrapping, randomBytes(NONCE_LENGTH), contentKey, NOTHING);
  const ciphertext = encrypt(
    contentKey,
    randomBytes(NONCE_LENGTH),
    Buffer.from(canonicalJson(payload)),
    additionalDataOf(context, label),
  );
  return {
    audience_label: label,
    encrypted_key: printEncryptedKey({ keyId, ephemeral, wrapped }),
    ciphertext: toBase64url(ciphertext),
  };
}

/** The id of the audience key that an envelope was sealed with. */
export function sealingKeyOf(envelope: Envelope): string {
  return partsOf(envelope).encryptedKey.keyId;
}

/** Opens the envelope of an entry. */
export function openWith(key: AudienceKey, envelope: Envelope, context: SealedContext): unknown {
  const { label, encryptedKey, ciphertext } = partsOf(envelope);
  if (label !== key.label || encryptedKey.keyId !== key.keyId)
    throw new LedgerError(
      "unreadable",
      `sealed for ${label} with key ${encryptedKey.keyId}, not ${key.keyId}`,
    );
  const contentKey = unwrap(encryptedKey, key);
  const plaintext = contentKey && decrypt(contentKey, ciphertext, additionalDataOf(context, label));
  if (!plaintext)
    throw new LedgerError("unreadable", "the envelope was altered, or was sealed for another entry");
  return payloadOf(plaintext.toString());
}

/** An audience's public key is enough to seal for it, so the content may still not be a payload. */
function payloadOf(text: string): unknown {
  try {
    const payload = parseStored(text);
    assertPlainJson(payload);
    if (canonicalJson(payload) === text) return payload;
  } catch (error) {
    throw new LedgerError("unreadable", "what was sealed is not JSON that an entry can hold", {
      cause: error,
    });
  }
  throw new LedgerError("unreadable", "what was sealed is not in canonical form");
}

function unwrap({ ephemeral, wrapped }: EncryptedKey, key: AudienceKey): Uint8Array | undefined {
  const parties = { ephemeral, audience: key.publicKey, label: key.label };
  const secret = secretOrNone(key.privateKey, ephemeral);
  const contentKey = secret && decrypt(wrappingKey(secret, parties), wrapped, NOTHING);
  return contentKey?.length === KEY_LENGTH ? contentKey : undefined;
}

/** A public key of low order makes no secret, and the library rejects it. Only a forger would send one. */
function secretOrNone(privateKey: Uint8Array, ephemeral: Uint8Array): Uint8Array | undefined {
  try {
    return sharedSecret(privateKey, ephemeral);
  } catch {
    return undefined;
  }
}

function partsOf(envelope: Envelope) {
  const { data } = Envelope.safeParse(envelope);
  const encryptedKey = data && parseEncryptedKey(data.encrypted_key);
  const ciphertext = data && fromBase64url(data.ciphertext);
  if (!data?.audience_label.isWellFormed() || data.audience_label === "" || !encryptedKey || !ciphertext)
    throw new LedgerError("unreadable", "the envelope does not have the form of one");
  return { label: data.audience_label, encryptedKey, ciphertext };
}
