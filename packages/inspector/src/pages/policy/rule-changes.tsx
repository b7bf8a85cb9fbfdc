import { Badge, type Tone } from "../../design/badge.tsx";
import { VerdictBadge } from "../../design/verdict.tsx";
import { inline } from "../../why/inline.ts";
import { type Rule, type RuleChange, ruleChanges } from "./rule-change.ts";

const TONES: Readonly<Record<RuleChange["kind"], Tone>> = {
  new: "good",
  gone: "bad",
  changed: "note",
  moved: "note",
};

/** Which rules come, go, change or move between two constitutions. */
export function RuleChanges({ before, after }: { before: readonly Rule[]; after: readonly Rule[] }) {
  const changes = ruleChanges(before, after);
  if (changes.length === 0)
    return <p className="text-sm text-ink-soft">The rules themselves are the same.</p>;
  return (
    <ul className="flex flex-col gap-1 text-sm">
      {changes.map(({ rule, kind }) => (
        <li key={`${kind}${rule.name}`} className="flex flex-wrap items-center gap-2">
          <Badge tone={TONES[kind]}>{kind}</Badge>
          <code className="text-xs">{rule.name}</code>
          <VerdictBadge verdict={rule.verdict} />
          <span className="text-2xs text-ink-faint">{inline(rule.condition) || "everything"}</span>
        </li>
      ))}
    </ul>
  );
}
