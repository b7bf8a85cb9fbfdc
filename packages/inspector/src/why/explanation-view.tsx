import type { PolicyExplanation } from "@reins/api";
import { Link } from "@tanstack/react-router";
import { Facts } from "../design/facts.tsx";
import { Hash } from "../design/hash.tsx";
import { LevelBadge, VerdictBadge } from "../design/verdict.tsx";
import { visible } from "../design/visible.ts";
import { EffectList } from "./effect-list.tsx";
import { LimitTable } from "./limit-table.tsx";
import { RuleTrail } from "./rule-trail.tsx";
import { SubjectFacts } from "./subject-facts.tsx";

/** A verdict, and all that led to it: who, what, the rules in their order, budgets. */
export function ExplanationView({ explanation }: { explanation: PolicyExplanation }) {
  const { recorded, said, facts, policy, rules, limits, counters, harnesses, note } = explanation;
  const { verdict, rule, reason } = recorded ?? said;
  const isOverruled = recorded !== null && recorded.verdict !== said.verdict;
  return (
    <div className="flex flex-col">
      <div className="flex flex-wrap items-center gap-2 px-3 py-2.5">
        <VerdictBadge verdict={verdict} />
        {recorded && <LevelBadge level={recorded.enforcement} />}
        <p className="min-w-0 text-sm">
          {rule !== null && <code className="text-xs">{rule}</code>}
          {rule !== null && ": "}
          {visible(reason)}
        </p>
      </div>
      {isOverruled && (
        <p className="px-3 pb-2 text-sm text-ink-soft">
          The rules alone say <VerdictBadge verdict={said.verdict} />
          {said.rule !== null && ` by ${said.rule}`}; {overruledBy(recorded)}.
        </p>
      )}
      {recorded?.approval && (
        <p className="px-3 pb-2 text-sm">
          <Link to="/approvals" search={{ approval: recorded.approval }} className="text-accent underline">
            The approval
          </Link>{" "}
          says who was asked and what they answered.
        </p>
      )}
      {note !== null && <p className="px-3 pb-2 text-sm text-warn">{visible(note)}</p>}
      <Section title="What it does">
        <EffectList action={facts} />
      </Section>
      <Section title="Who">
        <SubjectFacts subject={explanation.subject} />
      </Section>
      <Section title="Rules, in their order">
        <RuleTrail rules={rules} />
      </Section>
      {limits.length > 0 && (
        <Section title="Budgets">
          <LimitTable limits={limits} />
        </Section>
      )}
      <Section title="Under">
        <Facts
          facts={[
            [
              "Constitution",
              <span key="hash" className="flex flex-wrap items-center gap-2">
                <Hash value={policy.constitution_hash} /> rules <Hash value={policy.rules_hash} />
                {policy.current ? "in force now" : "not in force any more"}
              </span>,
            ],
            ...Object.entries(counters).map(([name, value]) => [name, String(value)] as const),
            ...(harnesses.length > 0 ? ([["Also asked", harnesses.join(", ")]] as const) : []),
          ]}
        />
      </Section>
    </div>
  );
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section className="border-t border-line">
      <h3 className="px-3 pt-2 text-2xs font-medium text-ink-faint">{title}</h3>
      {children}
    </section>
  );
}

function overruledBy({ approval, grant }: NonNullable<PolicyExplanation["recorded"]>): string {
  if (grant !== null) return "a standing permission decided";
  if (approval !== null) return "a person decided";
  return "a limit or another harness was stricter";
}
