import { announcedKeys, type LedgerReader, readCheckpoint } from "@reins/ledger";
import { type LedgerFlags, readLedger } from "../../../ledger/open-ledger.ts";
import { print } from "../../../output.ts";
import { describeSummary, type Summary } from "./summary.ts";

const RECENT = 5;

/** Shows what the ledger of a home is. */
export async function show(flags: LedgerFlags): Promise<void> {
  const summary = await readLedger(flags, summaryOf);
  print(flags.json ? `${JSON.stringify(summary)}\n` : describeSummary(summary));
}

async function summaryOf(ledger: LedgerReader, home: string): Promise<Summary> {
  const { note } = await ledger.checkpoint();
  const { size, root } = readCheckpoint(note);
  const [newest] = await ledger.read({ order: "newest", limit: 1 });
  const { count, recent } = await ledger.sessions(RECENT);
  return {
    home,
    origin: ledger.origin,
    log_key: ledger.logKey,
    size: newest ? newest.seq + 1 : 0,
    newest: newest?.entry.timestamp ?? null,
    checkpoint: { size, root: Buffer.from(root).toString("base64"), note },
    sessions: { count, recent },
    keys: await announcedKeys(ledger),
  };
}
