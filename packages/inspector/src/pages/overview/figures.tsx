import type { Overview } from "@reins/api";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { about, bytes, count, dollars, duration } from "../../design/number.ts";

/** The few numbers that say whether anything needs looking at. */
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
        name="Waiting for you"
        note={
          approvals.oldest_wait_ms === null ? "nothing waits" : `oldest ${duration(approvals.oldest_wait_ms)}`
        }
        to="/approvals"
        isUrgent={approvals.pending > 0}
      >
        {count(approvals.pending)}
      </Figure>
      <Figure name="Sessions live" note={`${sessions.running} in a turn`} to="/sessions">
        {count(sessions.live)}
      </Figure>
      <Figure
        name="Agents running"
        note={processes.memory_bytes ? bytes(processes.memory_bytes) : ""}
        to="/agents"
      >
        {count(processes.agents)}
      </Figure>
      <Figure name="Tokens" note="as far as agents tell">
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
