import { SYSTEM } from "../entry/entry.ts";
import type { LedgerReader, PlacedEntry } from "../ledger-reader.ts";

/** A key that signs entries, as the ledger itself tells. */
export interface AnnouncedKey {
  readonly key_id: string;
  readonly holder: string;
  readonly public_key: string;
  readonly added_at: string;
  /** The place of the entry that announces it. */
  readonly added: number;
  /** When it stopped; `null` while it signs. */
  readonly retired_at: string | null;
  /** The place of the entry after which it signs no more. */
  readonly retired: number | null;
}

const PAGE = 1_000;

/** Every key that was announced, in the order of announcement. */
export async function announcedKeys(ledger: Pick<LedgerReader, "read">): Promise<AnnouncedKey[]> {
  const keys = new Map<string, AnnouncedKey>();
  for (let after = -1; ; ) {
    const page = await ledger.read({
      tag: "key",
      quality: "policy_change",
      actor: SYSTEM,
      after,
      limit: PAGE,
    });
    for (const placed of page) take(keys, placed);
    const last = page.at(-1);
    if (!last || page.length < PAGE) return [...keys.values()];
    after = last.seq;
  }
}

function take(keys: Map<string, AnnouncedKey>, { seq, entry }: PlacedEntry): void {
  const { payload, timestamp } = entry;
  if (typeof payload !== "object" || payload === null || !("change" in payload && "key_id" in payload))
    return;
  const { change, key_id } = payload;
  if (typeof key_id !== "string") return;
  const known = keys.get(key_id);
  if (change === "key_retired" && known) keys.set(key_id, { ...known, retired_at: timestamp, retired: seq });
  if (change !== "key_added" || known || !("holder" in payload && "public_key" in payload)) return;
  const [holder, public_key] = [String(payload.holder), String(payload.public_key)];
  const when = { added_at: timestamp, added: seq, retired_at: null, retired: null };
  keys.set(key_id, { key_id, holder, public_key, ...when });
}
