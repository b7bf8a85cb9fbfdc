import { type CoverageReport, studyOperations } from "@reins/api";
import type { z } from "zod";
import { useGet } from "../../api/queries.ts";
import { Badge, VerdictBadge } from "../../design/badge.tsx";
import { count } from "../../design/format.ts";
import { EntryLink } from "../../design/links.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { visible } from "../../design/visible.ts";

type Report = z.infer<typeof CoverageReport>;

/** How often each rule decided, and actions that no rule names. */
export function Coverage() {
  const query = useGet(["policy-coverage"], studyOperations.coverPolicy, { body: {} });
  return (
    <Loaded query={query} what="Computing coverage">
      {(report) =>
        report.total === 0 ? (
          <Empty title="No decisions yet">
            Shows how often each rule decided, and which actions no rule names.
          </Empty>
        ) : (
          <>
            <p className="px-3 py-2 text-sm text-ink-soft">
              Of {count(report.total)} actions, {count(report.named)} were decided by a rule that names them,{" "}
              {count(report.taken_by_all)} by one that matches everything, and {count(report.unmatched)} by
              none.
            </p>
            <Rules report={report} />
            <Unnamed report={report} />
          </>
        )
      }
    </Loaded>
  );
}

function Rules({ report: { rules, unreachable, total } }: { report: Report }) {
  const behind = new Set(unreachable.map(({ rule }) => rule));
  return (
    <Table
      label="How often each rule decided"
      rows={rules}
      keyOf={({ rule }) => rule}
      columns={[
        {
          title: "Rule",
          cell: ({ rule, matches, takes_all }) => (
            <span className="flex flex-wrap items-center gap-2">
              <code className="text-xs">{rule}</code>
              {takes_all && <Badge>matches everything</Badge>}
              {behind.has(rule) ? (
                <Badge tone="warn" title="An earlier rule matches everything that it would">
                  unreachable
                </Badge>
              ) : (
                matches === 0 && <Badge>never decided</Badge>
              )}
            </span>
          ),
        },
        {
          title: "Share",
          className: "w-1/3 min-w-32",
          cell: ({ matches }) => <Share part={matches} of={total} />,
        },
        { title: "Decided", isNumber: true, cell: ({ matches }) => count(matches) },
      ]}
    />
  );
}

/** A share as a bar; the number stands beside it. */
function Share({ part, of }: { part: number; of: number }) {
  return (
    <span aria-hidden="true" className="mt-1.5 block h-1.5 rounded-full bg-sunken">
      <span className="block h-full rounded-full bg-accent" style={{ width: `${shareOf(part, of)}%` }} />
    </span>
  );
}

/** A part of a whole in percent; anything above zero is at least one, so that it can be seen. */
export function shareOf(part: number, whole: number): number {
  return part === 0 || whole === 0 ? 0 : Math.max(1, (100 * part) / whole);
}

function Unnamed({ report: { unnamed, unnamed_left_out } }: { report: Report }) {
  if (unnamed.length === 0)
    return <p className="px-3 py-2 text-sm text-ink-soft">Every action was named by a rule.</p>;
  return (
    <>
      <h3 className="border-t border-line px-3 pt-3 pb-1 text-sm font-semibold">
        Actions that no rule names
      </h3>
      <Table
        label="Actions that no rule names"
        rows={unnamed}
        keyOf={({ verdict, rule, event_type, tool, agent }) =>
          JSON.stringify([verdict, rule, event_type, tool, agent])
        }
        columns={[
          { title: "Verdict", cell: ({ verdict }) => <VerdictBadge verdict={verdict} /> },
          { title: "Tool", isExact: true, cell: ({ tool }) => visible(tool) },
          { title: "Agent", cell: ({ agent }) => visible(agent) },
          {
            title: "For example",
            cell: ({ examples: [example] }) =>
              example && <EntryLink cid={example.entry}>{visible(example.what)}</EntryLink>,
          },
          { title: "Times", isNumber: true, cell: (group) => count(group.count) },
        ]}
      />
      {unnamed_left_out > 0 && (
        <p className="px-3 py-2 text-2xs text-ink-faint">and {count(unnamed_left_out)} more kinds</p>
      )}
    </>
  );
}
