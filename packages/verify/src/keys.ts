import { type Bytes, blake3, fromBase64, toHex, utf8 } from "./bytes.ts";
import { type Content, type Entry, isAttested, SYSTEM } from "./entry/entry.ts";
import { type Attestation, isAttestation } from "./entry/proof.ts";
import { isObject } from "./json/parse.ts";
import { fits, KEY_ID, literal, mismatches, type Shape, TEXT } from "./json/shape.ts";
import type { Complaint } from "./report.ts";
import type { SignatureChecker } from "./signature.ts";

/** A key that was announced. */
export interface Key {
  readonly id: string;
  /** The only actor whose entries it may sign. */
  readonly holder: string;
  readonly publicKey: Bytes;
}

type KeyAdded = { change: "key_added"; key_id: string; holder: string; public_key: string };
type KeyRetired = { change: "key_retired"; key_id: string };

const KEY_ADDED: Shape<KeyAdded> = {
  change: literal("key_added"),
  key_id: KEY_ID,
  holder: TEXT,
  public_key: {
    expected: "32 bytes in base64",
    holds: (value) => typeof value === "string" && fromBase64(value)?.length === 32,
  },
};

const KEY_RETIRED: Shape<KeyRetired> = { change: literal("key_retired"), key_id: KEY_ID };

/** What an entry does to the keys of a ledger. */
export interface KeyChange {
  readonly added?: Key;
  /** The id of a key that stops. */
  readonly retired?: string;
  readonly complaints: readonly Complaint[];
}

/** Reads what an entry does to the keys; nothing for an entry that does not touch them. */
export function keyChangeOf(entry: Entry): KeyChange | undefined {
  const { quality, payload } = entry;
  if (quality !== "policy_change" || !isObject(payload)) return undefined;
  if (payload.change === "key_added") {
    if (!fits(payload, KEY_ADDED)) return { complaints: malformed(mismatches(payload, KEY_ADDED)) };
    return keyAdded(entry, payload);
  }
  if (payload.change !== "key_retired") return undefined;
  if (!fits(payload, KEY_RETIRED)) return { complaints: malformed(mismatches(payload, KEY_RETIRED)) };
  return { retired: payload.key_id, complaints: notBySystem(entry) };
}

function keyAdded(entry: Entry, { key_id: id, holder, public_key }: KeyAdded): KeyChange {
  const publicKey = fromBase64(public_key) ?? new Uint8Array(32);
  const complaints = notBySystem(entry);
  const expected = toHex(blake3(publicKey)).slice(0, 16);
  if (id !== expected) {
    const message = "the announced key has an id that does not belong to it";
    complaints.push({ code: "key_malformed", message, expected, found: id });
  }
  return { added: { id, holder, publicKey }, complaints };
}

function notBySystem({ actor, entity_id }: Entry): Complaint[] {
  if (actor === SYSTEM && entity_id === SYSTEM) return [];
  return [
    {
      code: "key_not_by_system",
      message: "keys are announced and retired by the ledger's own system only",
      expected: `${SYSTEM}, in the chain of ${SYSTEM}`,
      found: `${actor}, in the chain of ${entity_id}`,
    },
  ];
}

function malformed(found: readonly Omit<Complaint, "code">[]): Complaint[] {
  return found.map((one) => ({
    ...one,
    code: "key_malformed",
    message: `the change of a key ${one.message}`,
  }));
}

/** Complains when the first entry of a ledger does not announce the system's key, signed with that very key. */
export function firstEntryComplaint(entry: Entry, change: KeyChange | undefined): Complaint | undefined {
  const announced = change?.added;
  if (announced?.holder === SYSTEM && signer(entry) === announced.id) return undefined;
  return {
    code: "first_entry",
    message: `the first entry of a ledger has to announce the key of ${SYSTEM} and be signed with it`,
    expected: `a key of ${SYSTEM}, signed with itself`,
    found:
      announced === undefined
        ? `an entry of quality ${entry.quality} that announces none`
        : `the key ${announced.id} of ${announced.holder}, signed with ${signer(entry) ?? "none"}`,
  };
}

function signer({ proof }: Entry): string | undefined {
  return isAttestation(proof) ? proof.key_id : undefined;
}

/** A key and whether it still may sign. */
interface RegisteredKey {
  readonly key: Key;
  retired: boolean;
}

/** The keys that were announced so far. */
export class KeyRegister {
  readonly #keys = new Map<string, RegisteredKey>();

  /** Applies what an entry does to the keys. */
  apply({ added, retired, complaints }: KeyChange): Complaint[] {
    const found = [...complaints];
    if (added !== undefined) found.push(...this.#add(added));
    if (retired !== undefined) found.push(...this.#retire(retired));
    return found;
  }

  /** The key with that id, or why it may not sign now. */
  find(id: string): Key | Complaint {
    const registered = this.#keys.get(id);
    if (registered === undefined) {
      return {
        code: "key_unknown",
        message: "the entry is signed with a key that no earlier entry announced",
        found: id,
      };
    }
    if (registered.retired) {
      return {
        code: "key_retired",
        message: "the entry is signed with a key that was retired before",
        found: id,
      };
    }
    return registered.key;
  }

  #add(key: Key): Complaint[] {
    if (!this.#keys.has(key.id)) {
      this.#keys.set(key.id, { key, retired: false });
      return [];
    }
    return [{ code: "key_repeated", message: "the key was announced before", found: key.id }];
  }

  #retire(id: string): Complaint[] {
    const registered = this.#keys.get(id);
    if (registered === undefined) {
      return [{ code: "key_unknown", message: "the key that is retired was never announced", found: id }];
    }
    if (registered.retired) {
      return [{ code: "key_repeated", message: "the key was retired before", found: id }];
    }
    registered.retired = true;
    return [];
  }
}

/** Complains when an entry has to be signed and is not. A malformed proof is complained about elsewhere. */
export function missingAttestation({ quality, proof }: Entry): Complaint | undefined {
  if (!isAttested(quality) || (proof !== null && proof.type !== "zk_stark")) return undefined;
  return {
    code: "attestation_missing",
    message: `an entry of quality ${quality} has to be signed and is not`,
    expected: "an attestation",
    found: proof === null ? "null" : "zk_stark",
  };
}

/** Reports a key that signs for another actor than its holder. */
export function wrongHolder({ actor }: Entry, { holder }: Key): Complaint | undefined {
  if (actor === holder) return undefined;
  return {
    code: "key_holder",
    message: "the entry is signed with another holder's key",
    expected: `a key of ${actor}`,
    found: `a key of ${holder}`,
  };
}

/** Complains when the signature is not the key's over the entry. */
export async function wrongSignature(
  attestation: Attestation,
  content: Content,
  key: Key,
  checker: SignatureChecker,
): Promise<Complaint | undefined> {
  const signature = fromBase64(attestation.signature) ?? new Uint8Array(64);
  const message = utf8(content.attested());
  if (await checker.check({ publicKey: key.publicKey, signature, message })) return undefined;
  return {
    code: "signature_invalid",
    message: "the signature does not belong to the entry: the entry, the key or the signature was changed",
    expected: `a signature with the key ${key.id} of ${key.holder}`,
  };
}
