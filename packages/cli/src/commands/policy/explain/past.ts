import { existsSync } from "node:fs";
import { type Counters, History, type Policy, RecordReader, type Subject } from "@reins/policy";
import { databaseIn, homeFolder } from "../../../home.ts";
import { readLedger } from "../../../ledger/open-ledger.ts";
import type { PolicyFlags } from "../constitution-file.ts";
import { eachVerdict } from "../verdicts.ts";

/** What a subject did before, as far as a policy asks and the ledger knows; `undefined` when there is none. */
export async function countersOf(
  policy: Policy,
  subject: Subject,
  at: number,
  flags: PolicyFlags,
): Promise<Counters | undefined> {
  if (policy.sequences.length === 0) return {};
  if (!existsSync(databaseIn(homeFolder(flags.home, process.env)))) return undefined;
  const history = new History(policy.sequences);
  const reader = new RecordReader();
  await readLedger(flags, (ledger) =>
    eachVerdict(ledger, { since: undefined, limit: undefined }, (_, payload) => {
      const recorded = reader.read(payload);
      if (typeof recorded === "string" || recorded.subject.tenant !== subject.tenant) return;
      if (recorded.outcome === "allowed" || recorded.outcome === "modify") history.note(recorded);
    }),
  );
  return history.counters(subject, at);
}
