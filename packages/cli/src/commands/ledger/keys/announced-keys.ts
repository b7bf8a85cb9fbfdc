import { type LedgerReader, type PlacedEntry, SYSTEM } from "@reins/ledger";

/** A key that signs entries, as the ledger itself tells. */
export interface AnnouncedKey {
  readonly key_id: string;
  readonly holder: string;
  readonly public_key: string;
  readonly added_at: string;
  /** When it stopped; `null` while it signs. */
  readonly retired_at: string | null;
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
    for (const { entry } of page) take(keys, entry);
    const last = page.at(-1);
    if (!last || page.length < PAGE) return [...keys.values()];
    after = last.seq;
  }
}

function take(keys: Map<string, AnnouncedKey>, { payload, timestamp }: PlacedEntry["entry"]): void {
  if (typeof payload !== "object" || payload === null || !("change" in payload && "key_id" in payload))
    return;
  const { change, key_id } = payload;
  if (typeof key_id !== "string") return;
  const known = keys.get(key_id);
  if (change === "key_retired" && known) keys.set(key_id, { ...known, retired_at: timestamp });
  if (change !== "key_added" || known || !("holder" in payload && "public_key" in payload)) return;
  const [holder, public_key] = [String(payload.holder), String(payload.public_key)];
  keys.set(key_id, { key_id, holder, public_key, added_at: timestamp, retired_at: null });
}
