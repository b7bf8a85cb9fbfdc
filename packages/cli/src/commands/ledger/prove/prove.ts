import { proveEntry } from "@reins/ledger";
import { writeNewFile } from "../../../files.ts";
import { type LedgerFlags, readLedger } from "../../../ledger/open-ledger.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { findEntry, readCidPrefix } from "../get/find-entry.ts";

/** The flags of `reins ledger prove` as they were written. */
export interface ProveFlags extends LedgerFlags {
  readonly output?: string;
}

/** Writes the proof of the entry that a content id, or its beginning, names. */
export async function prove(text: string, flags: ProveFlags): Promise<void> {
  const prefix = readCidPrefix(text);
  const proof = await readLedger(flags, async (ledger) => {
    const { entry } = await findEntry(ledger, prefix);
    return proveEntry(ledger, entry.cid);
  });
  const json = `${JSON.stringify(proof)}\n`;
  if (flags.output === undefined || flags.output === "-") return print(json);
  await writeNewFile(flags.output, [json]);
  noticeOnStderr(flags.json)(`The proof of ${proof.entry.cid} is in ${flags.output}.`);
}
