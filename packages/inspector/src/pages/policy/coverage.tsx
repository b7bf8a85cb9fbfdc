import { type CoverageReport, studyOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import { call } from "../../api/call.ts";
import { Badge, VerdictBadge } from "../../design/badge.tsx";
import { count } from "../../design/format.ts";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { visible } from "../../design/visible.ts";
import { EntryLink } from "../../proof/entry-link.tsx";

type Report = z.infer<typeof CoverageReport>;

/** How often each rule decided, and actions that no rule names. */
export function Coverage() {
  const { data, error, refetch } = useQuery({
    queryKey: ["policy-coverage"],
    queryFn: ({ signal }) => call(studyOperations.coverPolicy, { body: {}, signal }),
  });
  if (error)
    return (
      <div className="p-3">
        <Failure error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (!data) return <Waiting what="Computing coverage" />;
  if (data.total === 0)
    return (
      <Empty title="No decisions yet">
        Shows how often each rule decided, and which actions no rule names.
      </Empty>
    );
  return (
    <>
      <p className="px-3 py-2 text-sm text-ink-soft">
        Of {count(data.total)} actions, {count(data.named)} were decided by a rule that names them,{" "}
        {count(data.taken_by_all)} by one that matches everything, and {count(data.unmatched)} by none.
      </p>
      <Rules report={data} />
      <Unnamed report={data} />
    </>
  );
}

function Rules({ report: { rules, unreachable, total } }: { report: Report }) {
  const behind = new Set(unreachable.map(({ rule }) => rule));
  return (
    <Table
      label="How often each rule decided"
      columns={[{ title: "Rule" }, { title: "Share" }, { title: "Decided", isNumber: true }]}
    >
      {rules.map(({ rule, matches, takes_all }) => (
        <tr key={rule}>
          <Cell>
            <span className="flex flex-wrap items-center gap-2">
              <code className="text-xs">{rule}</code>
              {takes_all && <Badge>matches everything</Badge>}
              {behind.has(rule) ? (
                <Badge tone="warn" title="An earlier rule matches everything that it would">
                  unreachable
                </Badge>
              ) : (
                matches === 0 && <Badge tone="neutral">never decided</Badge>
              )}
            </span>
          </Cell>
          <Cell className="w-1/3 min-w-32">
            <Share part={matches} of={total} />
          </Cell>
          <Cell isNumber>{count(matches)}</Cell>
        </tr>
      ))}
    </Table>
  );
}

/** A share as a bar; the number stands beside it. */
function Share({ part, of }: { part: number; of: number }) {
  return (
    <span aria-hidden="true" className="mt-1.5 block h-1.5 rounded-full bg-sunken">
      <span
        className="block h-full rounded-full bg-accent"
        style={{ width: `${of === 0 ? 0 : Math.max(part > 0 ? 1 : 0, (100 * part) / of)}%` }}
      />
    </span>
  );
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
        columns={[
          { title: "Verdict" },
          { title: "Tool" },
          { title: "Agent" },
          { title: "For example" },
          { title: "Times", isNumber: true },
        ]}
      >
        {unnamed.map((group) => (
          <tr key={JSON.stringify([group.verdict, group.rule, group.event_type, group.tool, group.agent])}>
            <Cell>
              <VerdictBadge verdict={group.verdict} />
            </Cell>
            <Cell isExact>{visible(group.tool)}</Cell>
            <Cell>{visible(group.agent)}</Cell>
            <Cell>
              {group.examples.slice(0, 1).map(({ entry, what }) => (
                <EntryLink key={entry} cid={entry}>
                  {visible(what)}
                </EntryLink>
              ))}
            </Cell>
            <Cell isNumber>{count(group.count)}</Cell>
          </tr>
        ))}
      </Table>
      {unnamed_left_out > 0 && (
        <p className="px-3 py-2 text-2xs text-ink-faint">and {count(unnamed_left_out)} more kinds</p>
      )}
    </>
  );
}
