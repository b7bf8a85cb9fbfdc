import { Coverage } from "@reins/policy";
import { readLedger } from "../../../ledger/open-ledger.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { DEFAULT_TENANT, type PolicyFlags, readConstitutionFile } from "../constitution-file.ts";
import { policyIn } from "../load-policy.ts";
import { eachVerdict, settleRange, type VerdictFlags } from "../verdicts.ts";
import { describeCoverage } from "./describe.ts";

/** The flags of `reins policy coverage` as they were written. */
export interface CoverageFlags extends PolicyFlags, VerdictFlags {}

/** Shows which actions of the past no rule names, and which rules nothing was about. */
export async function coverage(file: string | undefined, flags: CoverageFlags): Promise<void> {
  const { tenant = DEFAULT_TENANT } = flags;
  const range = settleRange(flags, new Date());
  const text = await readConstitutionFile(file, flags);
  const policy = await policyIn(text, noticeOnStderr(flags.json));
  const report = await readLedger(flags, async (ledger) => {
    const found = new Coverage(policy, { tenant });
    await eachVerdict(ledger, range, (entry, payload) => found.add(entry, payload));
    return found.report();
  });
  print(
    flags.json
      ? `${JSON.stringify({ file: text.file, tenant, ...report })}\n`
      : describeCoverage(text.file, report),
  );
}
