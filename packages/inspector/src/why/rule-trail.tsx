import type { ExplainedRule } from "@reins/api";
import type { z } from "zod";
import { classNames } from "../design/class-names.ts";
import { VerdictBadge } from "../design/verdict.tsx";
import { visible } from "../design/visible.ts";
import { inline } from "./inline.ts";

/** Every rule that was looked at, up to the one that matched, with what it asked for and did not find. */
export function RuleTrail({ rules }: { rules: readonly z.infer<typeof ExplainedRule>[] }) {
  if (rules.length === 0) return <p className="px-3 py-2 text-sm text-ink-soft">No rule was looked at.</p>;
  return (
    <ol className="px-3 py-2 text-sm">
      {rules.map(({ rule, verdict, matched, held, failed }, place) => (
        <li
          key={rule}
          className={classNames(
            "grid grid-cols-[1.5rem_1.25rem_minmax(0,1fr)_auto] items-baseline gap-x-1.5 rounded px-1 py-1",
            matched && "bg-accent-wash",
          )}
        >
          <span className="text-right font-mono text-2xs text-ink-faint">{place + 1}</span>
          <span className={matched ? "text-good" : "text-ink-faint"}>
            <span aria-hidden="true">{matched ? "✓" : "–"}</span>
            <span className="sr-only">{matched ? "matched" : "did not match"}</span>
          </span>
          <span className="min-w-0">
            <code className={classNames("text-xs break-words", !matched && "text-ink-soft")}>{rule}</code>
            <span className="block text-2xs text-ink-faint">
              {matched
                ? held.length === 0
                  ? "takes everything"
                  : `because ${held.map(clauseText).join(" and ")}`
                : failed.slice(0, 3).map(clauseText).join(", ")}
              {!matched && failed.length > 0 && " did not hold"}
            </span>
          </span>
          <VerdictBadge verdict={verdict} />
        </li>
      ))}
    </ol>
  );
}

function clauseText({ clause, asked }: { readonly clause: string; readonly asked?: unknown }): string {
  return visible(`${clause} ${inline(asked)}`.trim());
}
