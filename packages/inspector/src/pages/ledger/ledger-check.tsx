import { ledgerOperations } from "@reins/api";
import type { Fault, Progress } from "@reins/verify";
import { useCallback, useEffect, useRef, useState } from "react";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { count } from "../../design/format.ts";
import { Facts, Panel } from "../../design/layout.tsx";
import { Failure, ProgressBar } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";
import { keptCheckpoint } from "../../proof/compare.ts";
import { type VerifyReport, verify } from "../../proof/verify.ts";

/** The result of verifying the whole ledger. */
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
        facts={{
          "Checked here": `${count(entries)} entries, ${count(signatures)} signatures, ${count(checkpoints)} checkpoints`,
          Key: pinned ? "the one this browser keeps" : "the one the ledger itself states",
          "Seen before": seenText(seen),
          Withheld: withheld > 0 && `${count(withheld)} pieces of private content are known by digest only`,
        }}
      />
      <FaultList faults={report.faults} />
    </Panel>
  );
}

function seenText(seen: VerifyReport["seen"]): string {
  if (!seen?.checked) return "this browser has nothing to compare with";
  const size = count(seen.size ?? 0);
  return seen.holds
    ? `it extends the ${size} entries that this browser saw`
    : `it is NOT the ledger that this browser saw at ${size} entries`;
}

/** The faults of a ledger or a proof, with their positions. */
export function FaultList({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return (
    <ul className="flex max-h-72 flex-col gap-1.5 overflow-auto border-t border-line px-3 py-2 text-sm">
      {faults.map((fault) => (
        <li key={`${fault.seq}${fault.line}${fault.code}${fault.message}`}>
          <span className="font-medium text-bad">
            {fault.seq === undefined ? "" : `Entry ${fault.seq}: `}
            {visible(fault.message)}
          </span>{" "}
          <code className="text-2xs text-ink-faint">{fault.code}</code>
          {fault.expected !== undefined && (
            <p className="break-all text-ink-soft">expected {visible(fault.expected)}</p>
          )}
          {fault.found !== undefined && (
            <p className="break-all text-ink-soft">found {visible(fault.found)}</p>
          )}
        </li>
      ))}
    </ul>
  );
}

type LedgerCheck =
  | { readonly kind: "none" }
  | { readonly kind: "running"; readonly progress?: Progress }
  | { readonly kind: "done"; readonly report: VerifyReport }
  | { readonly kind: "failed"; readonly error: unknown };

/** Verifies the whole ledger on the page, against the key and the checkpoint that this browser keeps. */
export function useLedgerCheck() {
  const [check, setCheck] = useState<LedgerCheck>({ kind: "none" });
  const running = useRef<AbortController>(undefined);
  const stop = useCallback(() => {
    running.current?.abort();
    setCheck({ kind: "none" });
  }, []);
  useEffect(() => () => running.current?.abort(), []);
  const start = useCallback(async () => {
    const controller = new AbortController();
    running.current = controller;
    setCheck({ kind: "running" });
    const kept = keptCheckpoint();
    try {
      const report = await verify(
        {
          kind: "ledger",
          address: ledgerOperations.exportLedger.path,
          ...(kept && { logKey: kept.logKey, seen: kept.note }),
        },
        {
          onProgress: (progress) => setCheck({ kind: "running", progress }),
          signal: controller.signal,
        },
      );
      setCheck({ kind: "done", report });
    } catch (error) {
      if (!controller.signal.aborted) setCheck({ kind: "failed", error });
    }
  }, []);
  return { check, start: () => void start(), stop };
}
