import { type BacktestReport, studyOperations } from "@reins/api";
import { useMutation } from "@tanstack/react-query";
import type { z } from "zod";
import { call } from "../../api/queries.ts";
import { Badge, type Tone, VerdictBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { count, visible } from "../../design/format.ts";
import { EntryLink } from "../../design/markdown.tsx";
import { Failure } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import type { Draft } from "../../why/why-panel.tsx";

type Report = z.infer<typeof BacktestReport>;

const TONES: Readonly<Record<string, Tone>> = { looser: "warn", stricter: "note", same: "neutral" };

/** Decides recorded actions again by a draft and shows the differences. */
export function Backtest({ draft }: { draft: Draft }) {
  const run = useMutation({
    mutationFn: () => call(studyOperations.backtestPolicy, { body: { ...draft, examples: 3 } }),
  });
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Button onClick={() => run.mutate()} disabled={run.isPending}>
          {run.isPending ? "Backtesting …" : "Backtest"}
        </Button>
        <span className="text-2xs text-ink-faint">
          decides the last 20,000 verdicts again by this draft; changes nothing
        </span>
      </div>
      <Failure error={run.error} />
      {run.data && <Outcome report={run.data} />}
    </div>
  );
}

function Outcome({ report }: { report: Report }) {
  const { total, unchanged, looser, stricter, other_rule, blind, changes, changes_left_out } = report;
  return (
    <div role="status" className="flex flex-col gap-2">
      <p className="flex flex-wrap items-center gap-2 text-sm">
        Of {count(total)} verdicts
        <Badge tone={looser > 0 ? "warn" : "neutral"}>{count(looser)} looser</Badge>
        <Badge tone={stricter > 0 ? "note" : "neutral"}>{count(stricter)} stricter</Badge>
        <Badge>{count(unchanged)} unchanged</Badge>
        {other_rule > 0 && <Badge>{count(other_rule)} by another rule</Badge>}
        {blind > 0 && (
          <Badge tone="warn" title="The draft asks for arguments that the record does not hold">
            {count(blind)} decided blind
          </Badge>
        )}
      </p>
      {changes.length > 0 && (
        <Table
          label="What the draft would have changed"
          rows={changes}
          keyOf={({ from, to, event_type, tool, agent }) =>
            JSON.stringify([from, to, event_type, tool, agent])
          }
          columns={[
            {
              title: "Direction",
              cell: ({ direction }) => <Badge tone={TONES[direction] ?? "neutral"}>{direction}</Badge>,
            },
            { title: "Was", cell: ({ from }) => <DecidedBy {...from} /> },
            { title: "Would be", cell: ({ to }) => <DecidedBy {...to} /> },
            {
              title: "What, for example",
              cell: ({ tool, event_type, examples }) => (
                <>
                  <code className="text-xs">{visible(tool || event_type)}</code>
                  {examples.slice(0, 2).map(({ entry, what }) => (
                    <span key={entry} className="block">
                      <EntryLink cid={entry}>{visible(what)}</EntryLink>
                    </span>
                  ))}
                </>
              ),
            },
            { title: "Times", isNumber: true, cell: (change) => count(change.count) },
          ]}
        />
      )}
      {changes_left_out > 0 && (
        <p className="text-2xs text-ink-faint">and {count(changes_left_out)} more kinds of change</p>
      )}
    </div>
  );
}

function DecidedBy({ verdict, rule }: { verdict: string; rule: string | null }) {
  return (
    <>
      <VerdictBadge verdict={verdict} />
      <code className="block text-2xs text-ink-faint">{rule ?? "no rule"}</code>
    </>
  );
}
