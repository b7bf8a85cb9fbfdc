import { type LedgerFlags, readLedger } from "../../../ledger/open-ledger.ts";
import { print } from "../../../output.ts";
import { printableJson } from "../../../printable.ts";
import { findEntry, readCidPrefix } from "./find-entry.ts";

/** Prints the entry that a content id, or its beginning, names. */
export async function get(text: string, flags: LedgerFlags): Promise<void> {
  const prefix = readCidPrefix(text);
  const found = await readLedger(flags, (ledger) => findEntry(ledger, prefix));
  print(`${flags.json ? JSON.stringify(found) : printableJson(found)}\n`);
}
