import type { Overview } from "@reins/api";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { LevelBadge, VerdictBadge } from "../../design/badge.tsx";
import { Chart } from "../../design/chart.tsx";
import { about, bytes, count, dollars, duration } from "../../design/format.ts";
import { Panel } from "../../design/layout.tsx";
import { Cell, Table } from "../../design/table.tsx";

/** Key figures of the server. */
export function Figures({ overview }: { overview: Overview }) {
  const { decisions, approvals, usage, sessions, processes, ledger } = overview;
  return (
    <dl className="grid shrink-0 grid-cols-2 gap-px overflow-hidden rounded border border-line bg-line md:grid-cols-4 2xl:grid-cols-8">
      <Figure name="Decisions" note="since the start" to="/ledger">
        {count(decisions.total)}
      </Figure>
      <Figure name="Blocked" note={shareOf(decisions.by_verdict.blocked, decisions.total)} to="/ledger">
        {count(decisions.by_verdict.blocked ?? 0)}
      </Figure>
      <Figure
        name="Pending approvals"
        note={
          approvals.oldest_wait_ms === null ? "none pending" : `oldest ${duration(approvals.oldest_wait_ms)}`
        }
        to="/approvals"
        isUrgent={approvals.pending > 0}
      >
        {count(approvals.pending)}
      </Figure>
      <Figure name="Active sessions" note={`${sessions.running} in a turn`} to="/sessions">
        {count(sessions.live)}
      </Figure>
      <Figure
        name="Agents running"
        note={processes.memory_bytes ? bytes(processes.memory_bytes) : ""}
        to="/agents"
      >
        {count(processes.agents)}
      </Figure>
      <Figure name="Tokens" note="as reported by agents">
        {about(usage.tokens)}
      </Figure>
      <Figure name="Cost" note={`${count(usage.turns)} turns`}>
        {dollars(usage.cost_usd)}
      </Figure>
      <Figure name="Ledger" note={`${ledger.per_second.toFixed(1)} a second`} to="/ledger">
        {count(ledger.entries)}
      </Figure>
    </dl>
  );
}

function Figure({
  name,
  note,
  to,
  isUrgent,
  children,
}: {
  name: string;
  note: string;
  to?: string;
  isUrgent?: boolean;
  children: ReactNode;
}) {
  return (
    <div className="flex flex-col bg-surface px-3 py-2">
      <dt className="text-2xs text-ink-faint">
        {to === undefined ? (
          name
        ) : (
          <Link to={to} className="hover:text-ink hover:underline">
            {name}
          </Link>
        )}
      </dt>
      <dd className={`text-xl font-semibold tabular-nums ${isUrgent ? "text-warn" : ""}`}>{children}</dd>
      <dd className="text-2xs text-ink-faint tabular-nums">{note || "\u00a0"}</dd>
    </div>
  );
}

function shareOf(part: number | undefined, whole: number): string {
  return whole === 0 ? "" : `${((100 * (part ?? 0)) / whole).toFixed(1)} % of all`;
}

const FILLS: Readonly<Record<string, string>> = {
  allowed: "bg-good",
  ask: "bg-warn",
  blocked: "bg-bad",
  modify: "bg-note",
  defer: "bg-ink-faint",
};

/** The distribution of verdicts and enforcement levels. */
export function VerdictMix({ overview: { decisions } }: { overview: Overview }) {
  const verdicts = Object.keys(FILLS).map(
    (verdict) => [verdict, decisions.by_verdict[verdict] ?? 0] as const,
  );
  return (
    <Panel title="Verdicts" className="min-w-0">
      <div className="flex flex-col gap-3 p-3">
        <div aria-hidden="true" className="flex h-2.5 gap-px overflow-hidden rounded bg-sunken">
          {verdicts.map(
            ([verdict, number]) =>
              number > 0 && <span key={verdict} className={FILLS[verdict]} style={{ flexGrow: number }} />,
          )}
        </div>
        <ul className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {verdicts.map(([verdict, number]) => (
            <li key={verdict}>
              <Link
                to="/ledger"
                search={{ quality: "policy_verdict", tag: verdict }}
                className="flex items-center gap-1.5 hover:underline"
              >
                <VerdictBadge verdict={verdict} /> <span className="tabular-nums">{count(number)}</span>
              </Link>
            </li>
          ))}
        </ul>
        <ul className="flex flex-wrap gap-x-4 gap-y-1 border-t border-line pt-2 text-sm">
          {["performed", "confined", "asked", "observed"].map((level) => (
            <li key={level} className="flex items-center gap-1.5">
              <LevelBadge level={level} />{" "}
              <span className="tabular-nums">{count(decisions.by_enforcement[level] ?? 0)}</span>
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  );
}

type Percentiles = Overview["decisions"]["latency_ms"];

/** Latency percentiles of the last few minutes. */
export function PercentilePanel({ overview }: { overview: Overview }) {
  const { decisions, approvals, requests } = overview;
  return (
    <Panel title="Latency" className="min-w-0">
      <Table
        label="Percentiles of the last few minutes"
        columns={[
          { title: "What" },
          { title: "Times", isNumber: true },
          { title: "p50", isNumber: true },
          { title: "p90", isNumber: true },
          { title: "p99", isNumber: true },
          { title: "Longest", isNumber: true },
        ]}
      >
        <Row name="A verdict" title="from the event to the durable verdict" of={decisions.latency_ms} />
        <Row name="Approval answer" title="how long approvals waited" of={approvals.wait_ms} />
        <Row name="A request" title="to this API" of={requests.latency_ms} />
      </Table>
    </Panel>
  );
}

function Row({ name, title, of }: { name: string; title: string; of: Percentiles }) {
  const shown = (value: number) => (of.count === 0 ? "–" : duration(value));
  return (
    <tr>
      <Cell>
        <span title={title}>{name}</span>
      </Cell>
      <Cell isNumber>{count(of.count)}</Cell>
      <Cell isNumber>{shown(of.p50)}</Cell>
      <Cell isNumber>{shown(of.p90)}</Cell>
      <Cell isNumber>{shown(of.p99)}</Cell>
      <Cell isNumber>{shown(of.max)}</Cell>
    </tr>
  );
}

/** Charts of the last hour. */
export function Charts({ overview: { history } }: { overview: Overview }) {
  const { at } = history;
  const every = `in each ${duration(history.step_ms)}`;
  return (
    <div className="grid min-w-0 gap-3 lg:grid-cols-2 2xl:grid-cols-4">
      <Panel title="Decisions" className="min-w-0">
        <Chart
          label={`Decisions ${every}`}
          at={at}
          format={about}
          lines={[
            { label: "all", tone: "accent", values: history.decisions },
            { label: "asked", tone: "warn", values: history.asked },
            { label: "blocked", tone: "bad", values: history.blocked },
          ]}
        />
      </Panel>
      <Panel title="Time to a verdict" className="min-w-0">
        <Chart
          label="Time to a verdict"
          at={at}
          format={duration}
          lines={[
            { label: "p50", tone: "accent", values: history.latency_p50_ms },
            { label: "p99", tone: "note", values: history.latency_p99_ms },
          ]}
        />
      </Panel>
      <Panel title="Traffic" className="min-w-0">
        <Chart
          label={`Log events and requests ${every}`}
          at={at}
          format={about}
          lines={[
            { label: "ledger", tone: "accent", values: history.ledger_entries },
            { label: "events", tone: "good", values: history.log_events },
            { label: "requests", tone: "neutral", values: history.requests },
          ]}
        />
      </Panel>
      <Panel title="Memory of the server" className="min-w-0">
        <Chart
          label="Memory of the server process"
          at={at}
          format={bytes}
          lines={[{ label: "resident", tone: "accent", values: history.rss_bytes }]}
        />
      </Panel>
    </div>
  );
}
