import { type AnnouncedKey, announcedKeys } from "@reins/ledger";
import { type LedgerFlags, readLedger } from "../../../ledger/open-ledger.ts";
import { print } from "../../../output.ts";
import { printableLine } from "../../../printable.ts";

/** Lists the keys of a home's ledger. */
export async function keys(flags: LedgerFlags): Promise<void> {
  const text = await readLedger(flags, async (ledger) => {
    const all = await announcedKeys(ledger);
    if (flags.json) return `${JSON.stringify({ log_key: ledger.logKey, keys: all })}\n`;
    return `checkpoints are signed with ${printableLine(ledger.logKey)}\n\n${describeKeys(all)}`;
  });
  print(text);
}

/** Keys for people, one line for each. */
export function describeKeys(keys: readonly AnnouncedKey[]): string {
  const width = Math.max(0, ...keys.map(({ holder }) => printableLine(holder).length));
  return keys.map((key) => `${lineOf(key, width)}\n`).join("");
}

function lineOf({ key_id, holder, added_at, retired_at }: AnnouncedKey, width: number): string {
  const until = retired_at === null ? "signs" : `retired ${retired_at}`;
  return `${key_id}  ${printableLine(holder).padEnd(width)}  since ${added_at}  ${until}`;
}
