import { readCheckpoint } from "@reins/ledger";
import { type LedgerFlags, readLedger } from "../../../ledger/open-ledger.ts";
import { print } from "../../../output.ts";

/** Prints the newest checkpoint of a home's ledger. */
export async function checkpoint(flags: LedgerFlags): Promise<void> {
  const text = await readLedger(flags, async (ledger) => {
    const { note } = await ledger.checkpoint();
    if (!flags.json) return note;
    const { origin, size, root } = readCheckpoint(note);
    const fields = { origin, size, root: Buffer.from(root).toString("base64"), log_key: ledger.logKey, note };
    return `${JSON.stringify(fields)}\n`;
  });
  print(text);
}
