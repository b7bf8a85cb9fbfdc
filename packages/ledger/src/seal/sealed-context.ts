import { canonicalJson } from "../canonical.ts";
import type { LedgerEntry } from "../entry/entry.ts";

/** The members of its entry that a sealed payload is bound to; moved to another entry it does not open. */
export type SealedContext = Pick<LedgerEntry, "actor" | "entity_id" | "quality" | "target" | "timestamp">;

/** The additional data of a sealed payload. */
export function additionalDataOf(context: SealedContext, audience_label: string): Uint8Array {
  const { actor, entity_id, quality, target, timestamp } = context;
  return Buffer.from(canonicalJson({ actor, audience_label, entity_id, quality, target, timestamp }));
}
