import type { Overview } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { count } from "../../design/number.ts";
import { Panel } from "../../design/panel.tsx";
import { LevelBadge, VerdictBadge } from "../../design/verdict.tsx";

const FILLS: Readonly<Record<string, string>> = {
  allowed: "bg-good",
  ask: "bg-warn",
  blocked: "bg-bad",
  modify: "bg-note",
  defer: "bg-ink-faint",
};

/** How the verdicts are spread, and how far they were enforced. */
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
