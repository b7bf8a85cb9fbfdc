import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Facts } from "../../design/facts.tsx";
import { count } from "../../design/number.ts";
import { Panel } from "../../design/panel.tsx";
import { ProgressBar } from "../../design/progress-bar.tsx";
import { Failure } from "../../design/states.tsx";
import { FaultList } from "../../proof/fault-list.tsx";
import type { VerifyReport } from "../../proof/verify-job.ts";
import type { LedgerCheck } from "./use-ledger-check.ts";

/** What came of checking the whole ledger. */
export function LedgerCheckPanel({ check, onStop }: { check: LedgerCheck; onStop: () => void }) {
  if (check.kind === "none") return null;
  if (check.kind === "failed") return <Failure error={check.error} />;
  if (check.kind === "running") {
    const { entries = 0, total } = check.progress ?? {};
    return (
      <Panel title="Verifying the ledger in this page" actions={<Button onClick={onStop}>Stop</Button>}>
        <div className="flex flex-col gap-1.5 px-3 py-2 text-sm">
          <span role="status" className="tabular-nums">
            {count(entries)}
            {total !== undefined && ` of ${count(total)}`} entries
          </span>
          <ProgressBar label="Verifying" part={total && entries / total} />
        </div>
      </Panel>
    );
  }
  return <Result report={check.report} onClose={onStop} />;
}

function Result({ report, onClose }: { report: VerifyReport; onClose: () => void }) {
  const { ok, entries = 0, signatures = 0, checkpoints = 0, withheld = 0, seen, pinned } = report;
  return (
    <Panel
      title={
        <span className="flex items-center gap-2">
          {ok ? "The ledger holds" : "The ledger does not hold"}
          <Badge tone={ok ? "good" : "bad"}>{ok ? "verified" : "not verified"}</Badge>
        </span>
      }
      actions={
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      }
    >
      <Facts
        facts={[
          [
            "Checked here",
            `${count(entries)} entries, ${count(signatures)} signatures, ${count(checkpoints)} checkpoints`,
          ],
          ["Key", pinned ? "the one this browser keeps" : "the one the ledger itself states"],
          [
            "Seen before",
            seen?.checked
              ? seen.holds
                ? `it extends the ${count(seen.size ?? 0)} entries that this browser saw`
                : `it is NOT the ledger that this browser saw at ${count(seen.size ?? 0)} entries`
              : "this browser has nothing to compare with",
          ],
          ...(withheld > 0
            ? ([
                ["Withheld", `${count(withheld)} pieces of private content are known by digest only`],
              ] as const)
            : []),
        ]}
      />
      <FaultList faults={report.faults} />
    </Panel>
  );
}
