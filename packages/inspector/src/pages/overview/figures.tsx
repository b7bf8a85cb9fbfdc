import type { Overview } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { LevelBadge, VerdictBadge } from "../../design/badge.tsx";
import { Chart, type Line } from "../../design/chart.tsx";
import { about, bytes, count, dollars, duration } from "../../design/format.ts";
import { Panel } from "../../design/layout.tsx";
import { Table } from "../../design/table.tsx";

/** Key figures of the server. */
export function Figures({ overview }: { overview: Overview }) {
  return (
    <dl className="grid shrink-0 grid-cols-2 gap-px overflow-hidden rounded border border-line bg-line md:grid-cols-4 2xl:grid-cols-8">
      {figuresOf(overview).map(({ name, value, note, to, isUrgent }) => (
        <div key={name} className="flex flex-col bg-surface px-3 py-2">
          <dt className="text-2xs text-ink-faint">
            {to === undefined ? (
              name
            ) : (
              <Link to={to} className="hover:text-ink hover:underline">
                {name}
              </Link>
            )}
          </dt>
          <dd className={`text-xl font-semibold tabular-nums ${isUrgent ? "text-warn" : ""}`}>{value}</dd>
          <dd className="text-2xs text-ink-faint tabular-nums">{note || "\u00a0"}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A key figure, with the page that has more about it. */
interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly to?: string;
  readonly isUrgent?: boolean;
}

function figuresOf(overview: Overview): readonly Figure[] {
  const { decisions, approvals, usage, sessions, processes, ledger } = overview;
  const { pending, oldest_wait_ms } = approvals;
  const blocked = decisions.by_verdict.blocked ?? 0;
  return [
    { name: "Decisions", value: count(decisions.total), note: "since the start", to: "/ledger" },
    { name: "Blocked", value: count(blocked), note: shareOf(blocked, decisions.total), to: "/ledger" },
    {
      name: "Pending approvals",
      value: count(pending),
      note: oldest_wait_ms === null ? "none pending" : `oldest ${duration(oldest_wait_ms)}`,
      to: "/approvals",
      isUrgent: pending > 0,
    },
    {
      name: "Active sessions",
      value: count(sessions.live),
      note: `${sessions.running} in a turn`,
      to: "/sessions",
    },
    {
      name: "Agents running",
      value: count(processes.agents),
      note: processes.memory_bytes ? bytes(processes.memory_bytes) : "",
      to: "/agents",
    },
    { name: "Tokens", value: about(usage.tokens), note: "reported or estimated" },
    { name: "Cost", value: dollars(usage.cost_usd), note: `${count(usage.turns)} turns` },
    {
      name: "Ledger",
      value: count(ledger.entries),
      note: `${ledger.per_second.toFixed(1)} a second`,
      to: "/ledger",
    },
  ];
}

function shareOf(part: number, whole: number): string {
  return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)} % of all`;
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
export function PercentilePanel({ overview: { decisions, approvals, requests } }: { overview: Overview }) {
  const column = (title: string, of: (values: Percentiles) => number) => ({
    title,
    isNumber: true,
    cell: ({ values }: { readonly values: Percentiles }) => (values.count === 0 ? "–" : duration(of(values))),
  });
  return (
    <Panel title="Latency" className="min-w-0">
      <Table
        label="Percentiles of the last few minutes"
        rows={[
          { name: "A verdict", title: "from the event to the durable verdict", values: decisions.latency_ms },
          { name: "Approval answer", title: "how long approvals waited", values: approvals.wait_ms },
          { name: "A request", title: "to this API", values: requests.latency_ms },
        ]}
        keyOf={({ name }) => name}
        columns={[
          { title: "What", cell: ({ name, title }) => <span title={title}>{name}</span> },
          { title: "Times", isNumber: true, cell: ({ values }) => count(values.count) },
          column("p50", ({ p50 }) => p50),
          column("p90", ({ p90 }) => p90),
          column("p99", ({ p99 }) => p99),
          column("Longest", ({ max }) => max),
        ]}
      />
    </Panel>
  );
}

/** Charts of the last hour. */
export function Charts({ overview: { history } }: { overview: Overview }) {
  return (
    <div className="grid min-w-0 gap-3 lg:grid-cols-2 2xl:grid-cols-4">
      {chartsOf(history).map(({ title, ...chart }) => (
        <Panel key={title} title={title} className="min-w-0">
          <Chart at={history.at} {...chart} />
        </Panel>
      ))}
    </div>
  );
}

interface ChartSpec {
  readonly title: string;
  readonly label: string;
  readonly format: (value: number) => string;
  readonly lines: readonly Line[];
}

function chartsOf(history: Overview["history"]): readonly ChartSpec[] {
  const every = `in each ${duration(history.step_ms)}`;
  return [
    {
      title: "Decisions",
      label: `Decisions ${every}`,
      format: about,
      lines: [
        { label: "all", tone: "accent", values: history.decisions },
        { label: "asked", tone: "warn", values: history.asked },
        { label: "blocked", tone: "bad", values: history.blocked },
      ],
    },
    {
      title: "Time to a verdict",
      label: "Time to a verdict",
      format: duration,
      lines: [
        { label: "p50", tone: "accent", values: history.latency_p50_ms },
        { label: "p99", tone: "note", values: history.latency_p99_ms },
      ],
    },
    {
      title: "Traffic",
      label: `Log events and requests ${every}`,
      format: about,
      lines: [
        { label: "ledger", tone: "accent", values: history.ledger_entries },
        { label: "events", tone: "good", values: history.log_events },
        { label: "requests", tone: "neutral", values: history.requests },
      ],
    },
    {
      title: "Memory of the server",
      label: "Memory of the server process",
      format: bytes,
      lines: [{ label: "resident", tone: "accent", values: history.rss_bytes }],
    },
  ];
}
