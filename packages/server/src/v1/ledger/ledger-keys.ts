import type { LedgerReader } from "@reins/ledger";
import { z } from "zod";

const Added = z.object({
  change: z.literal("key_added"),
  key_id: z.string(),
  holder: z.string(),
  public_key: z.string(),
});
const Retired = z.object({ change: z.literal("key_retired"), key_id: z.string() });

interface AnnouncedKey {
  readonly key_id: string;
  readonly holder: string;
  readonly public_key: string;
  readonly announced: number;
  readonly announced_at: string;
  retired: number | null;
}

const PAGE = 1_000;

/** The public keys that sign entries, as the ledger itself announces and retires them. */
export async function announcedKeys(ledger: Pick<LedgerReader, "read">): Promise<readonly AnnouncedKey[]> {
  const keys = new Map<string, AnnouncedKey>();
  for (let after = -1; ; ) {
    const page = await ledger.read({ tag: "key", after, limit: PAGE });
    for (const { seq, entry } of page) {
      after = seq;
      const added = Added.safeParse(entry.payload).data;
      const { key_id, holder, public_key } = added ?? {};
      if (key_id !== undefined && holder !== undefined && public_key !== undefined)
        keys.set(key_id, {
          ...{ key_id, holder, public_key },
          ...{ announced: seq, announced_at: entry.timestamp, retired: null },
        });
      const gone = keys.get(Retired.safeParse(entry.payload).data?.key_id ?? "");
      if (gone) gone.retired = seq;
    }
    if (page.length < PAGE) return [...keys.values()];
  }
}
