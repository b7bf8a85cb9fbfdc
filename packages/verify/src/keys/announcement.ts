import { fromBase64 } from "../bytes/base64.ts";
import { toHex } from "../bytes/hex.ts";
import { type Entry, SYSTEM } from "../entry/entry.ts";
import { blake3 } from "../hash/blake3.ts";
import { KEY_ID, literal, TEXT } from "../json/rules.ts";
import { fits, mismatches, type Shape } from "../json/shape.ts";
import { isObject } from "../json/value.ts";
import type { Complaint } from "../report/fault.ts";
import type { Key } from "./key.ts";

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
