import { type Entry, SYSTEM } from "../entry/entry.ts";
import { isAttestation } from "../entry/proof.ts";
import type { Complaint } from "../report/fault.ts";
import type { KeyChange } from "./announcement.ts";

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
