import type { Action, ExplainedLimit, ExplainedRule, PolicyExplanation } from "@reins/api";
import { z } from "zod";
import { Badge, LevelBadge, VerdictBadge } from "../design/badge.tsx";
import { Hash } from "../design/button.tsx";
import { Json } from "../design/code.tsx";
import { count, dollars, duration, formatValue, visible, visibleLine } from "../design/format.ts";
import { classNames, Facts, Section } from "../design/layout.tsx";
import { SessionLink, TextLink } from "../design/markdown.tsx";
import { Table } from "../design/table.tsx";
import { effectText } from "../pages/approvals/action-text.ts";

/** A verdict with subject, effects, evaluated rules and budgets. */
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
          <TextLink to="/approvals" search={{ approval: recorded.approval }}>
            The approval
          </TextLink>{" "}
          has the user and the answer.
        </p>
      )}
      {note !== null && <p className="px-3 pb-2 text-sm text-warn">{visible(note)}</p>}
      <Section title="Effects">
        <EffectList action={facts} />
      </Section>
      <Section title="Subject">
        <SubjectFacts subject={explanation.subject} />
      </Section>
      <Section title="Rules in order">
        <RuleTrail rules={rules} />
      </Section>
      {limits.length > 0 && (
        <Section title="Budgets">
          <LimitTable limits={limits} />
        </Section>
      )}
      <Section title="Policy">
        <Facts
          facts={{
            Constitution: (
              <span className="flex flex-wrap items-center gap-2">
                <Hash value={policy.constitution_hash} /> rules <Hash value={policy.rules_hash} />
                {policy.current ? "in force now" : "not in force any more"}
              </span>
            ),
            ...Object.fromEntries(Object.entries(counters).map(([name, value]) => [name, String(value)])),
            "External harnesses": harnesses.join(", "),
          }}
        />
      </Section>
    </div>
  );
}

/** Why a recorded verdict differs from that of the rules. */
function overruledBy({ approval, grant }: NonNullable<PolicyExplanation["recorded"]>): string {
  if (grant !== null) return "a grant decided";
  if (approval !== null) return "a person decided";
  return "a limit or another harness was stricter";
}

/** The effects of an action as Reins determined them. */
function EffectList({ action }: { action: z.infer<typeof Action> }) {
  const { tool, effects, opaque, doubts, arguments: given } = action;
  return (
    <div className="flex flex-col gap-1 px-3 py-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        {tool === "" ? "No tool" : <code className="text-xs">{visibleLine(tool)}</code>}
        {opaque && (
          <Badge tone="warn" title="It may do more than Reins can determine">
            opaque
          </Badge>
        )}
      </p>
      {effects.length === 0 && !opaque && <p className="text-ink-soft">No effects.</p>}
      <ul className="flex flex-col gap-0.5">
        {effects.map((effect) => (
          <li key={JSON.stringify(effect)} className="font-mono text-xs whitespace-pre-wrap break-all">
            {effectText(effect)}
          </li>
        ))}
      </ul>
      {doubts.map((doubt) => (
        <p key={doubt} className="text-warn">
          {visibleLine(doubt)}
        </p>
      ))}
      {hasMembers(given) && <Json value={given} className="max-h-48" />}
    </div>
  );
}

function hasMembers(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

const names = z.array(z.string()).catch([]);
const Subject = z.object({
  user: z.string().catch(""),
  tenant: z.string().catch(""),
  roles: names,
  scopes: names,
  agent: z.string().catch(""),
  trust: z.string().catch(""),
  chain: names,
  depth: z.number().catch(0),
  session: z.string().catch(""),
  started: z.string().catch(""),
  mode: z.string().catch(""),
});

/** Who acts, on whose behalf and through which agents. */
function SubjectFacts({ subject }: { subject: Readonly<Record<string, unknown>> }) {
  const { user, tenant, roles, scopes, agent, trust, chain, depth, session, started, mode } =
    Subject.parse(subject);
  const parts = (...texts: readonly (string | false)[]) => visible(texts.filter(Boolean).join(", "));
  return (
    <Facts
      facts={{
        "On behalf of": parts(
          `${user} of ${tenant}`,
          roles.length > 0 && `as ${roles.join(", ")}`,
          `scopes ${scopes.join(", ") || "none"}`,
        ),
        Agent: parts(
          agent,
          `trust ${trust}`,
          chain.length > 0 && `through ${chain.join(" → ")}`,
          depth > 0 && `depth ${depth}`,
          mode !== "" && `mode ${mode}`,
          started !== "" && `started ${started}`,
        ),
        Session: /^[0-9a-f]{64}$/.test(session) && <SessionLink id={session} length={16} />,
      }}
    />
  );
}

/** The evaluated rules up to the one that matched, with the clauses that failed. */
function RuleTrail({ rules }: { rules: readonly z.infer<typeof ExplainedRule>[] }) {
  if (rules.length === 0) return <p className="px-3 py-2 text-sm text-ink-soft">No rule was evaluated.</p>;
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
                  ? "matches everything"
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
  return visible(`${clause} ${formatValue(asked)}`.trim());
}

type Limit = z.infer<typeof ExplainedLimit>;

function LimitTable({ limits }: { limits: readonly Limit[] }) {
  return (
    <Table
      label="Budgets"
      rows={limits}
      keyOf={({ name }) => name}
      columns={[
        { title: "Budget", cell: ({ name }) => <code className="text-xs">{name}</code> },
        {
          title: "Of",
          className: "text-ink-soft",
          cell: ({ per, within }) => `each ${per}${within === undefined ? "" : ` within ${within}`}`,
        },
        { title: "Used", className: "tabular-nums", cell: usedText },
        { title: "When exceeded", cell: ({ exceeded }) => <VerdictBadge verdict={exceeded} /> },
      ]}
    />
  );
}

function usedText({ used, calls, tokens, cost, time }: Limit): string {
  const parts = [
    calls !== undefined && `${used ? count(used.calls) : "?"} of ${count(calls)} calls`,
    tokens !== undefined && `${used ? count(used.tokens) : "?"} of ${count(tokens)} tokens`,
    cost !== undefined && `${used ? dollars(used.cost) : "?"} of ${dollars(cost)}`,
    time !== undefined && `${used ? duration(used.time_ms) : "?"} of ${time}`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}
