import { Backtest, type BacktestReport } from "@reins/policy";
import { policiesInForce } from "@reins/supervisor";
import { EXIT, type ExitCode } from "../../../errors.ts";
import { readLedger } from "../../../ledger/open-ledger.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { readConstitutionFile } from "../constitution-file.ts";
import { policyIn } from "../load-policy.ts";
import { eachVerdict } from "../verdicts.ts";
import { describeBacktest } from "./describe.ts";
import { type BacktestFlags, type FailOn, settleBacktest } from "./settings.ts";

/** Tries a draft on the verdicts in the ledger of a home. */
export async function backtest(file: string, flags: BacktestFlags): Promise<ExitCode> {
  const { range, tenant, examples, failOn } = settleBacktest(flags, new Date());
  const draft = await policyIn(await readConstitutionFile(file, flags), noticeOnStderr(flags.json));
  const report = await readLedger(flags, async (ledger) => {
    const known = await policiesInForce(ledger, tenant);
    const trial = new Backtest(draft, { tenant, examples, known });
    await eachVerdict(ledger, range, (entry, payload) => trial.add(entry, payload));
    return trial.report();
  });
  print(flags.json ? `${JSON.stringify({ file, tenant, ...report })}\n` : describeBacktest(file, report));
  return fails(failOn, report) ? EXIT.failed : EXIT.done;
}

function fails(failOn: FailOn, { looser, stricter }: BacktestReport): boolean {
  switch (failOn) {
    case "looser":
      return looser > 0;
    case "change":
      return looser + stricter > 0;
    case "nothing":
      return false;
  }
}
