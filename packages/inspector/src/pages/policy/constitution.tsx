import { type PolicyStatus, type PolicyTestOutcome, studyOperations } from "@reins/api";
import type { z } from "zod";
import { useGet } from "../../api/queries.ts";
import { Badge, VerdictBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { formatValue, words } from "../../design/format.ts";
import { Markdown } from "../../design/markdown.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";

/** The last line of the rules: what no rule matches is blocked. */
const OTHERWISE = { name: "", verdict: "blocked", reason: "no matching policy rule", condition: {} } as const;

/** The constitution in force: prose, and rules in their order. */
export function Constitution({ status: { in_force, prose } }: { status: PolicyStatus }) {
  return (
    <div className="grid xl:grid-cols-[minmax(0,1fr)_24rem]">
      {in_force ? (
        <Table
          label="Rules: the first that matches decides"
          rows={[...in_force.rules, OTHERWISE]}
          keyOf={({ name }) => name}
          columns={[
            {
              title: "#",
              isNumber: true,
              className: "text-ink-faint",
              cell: (rule, place) => rule !== OTHERWISE && place + 1,
            },
            { title: "Verdict", cell: ({ verdict }) => <VerdictBadge verdict={verdict} /> },
            {
              title: "Rule and reason",
              className: "min-w-56",
              cell: ({ name, reason }) => (
                <>
                  <code className="text-xs">{name}</code>
                  <span className="block text-ink-soft">{reason}</span>
                </>
              ),
            },
            {
              title: "If",
              className: "min-w-64",
              cell: (rule) =>
                rule === OTHERWISE ? "nothing above matched" : <ConditionView condition={rule.condition} />,
            },
          ]}
        />
      ) : (
        <Empty title="No rules are in force">Fix constitution.yaml in the home, then reload.</Empty>
      )}
      <div className="border-line p-4 max-xl:border-t xl:border-l">
        <h3 className="pb-2 text-2xs font-medium text-ink-faint">constitution.md</h3>
        {prose ? (
          <Markdown text={prose} className="text-sm" />
        ) : (
          <p className="text-sm text-ink-soft">No prose. Add constitution.md beside the rules.</p>
        )}
      </div>
    </div>
  );
}

function ConditionView({ condition }: { condition: Readonly<Record<string, unknown>> }) {
  const clauses = Object.entries(condition);
  if (clauses.length === 0) return <span className="text-ink-soft">everything</span>;
  return (
    <ul className="flex flex-col gap-0.5">
      {clauses.map(([name, asked]) => (
        <li key={name}>
          <span className="text-ink-faint">{words(name)} </span>
          <span className="font-mono text-xs break-words">{formatValue(asked)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Runs the examples of the constitution. */
export function PolicyTests() {
  const query = useGet(["policy-tests"], studyOperations.testPolicy, { body: {} });
  const { isFetching, refetch } = query;
  return (
    <Loaded query={query} what="Running the tests of the constitution">
      {({ passed, failed, tests }) => (
        <>
          <div className="flex items-center gap-2 px-3 py-2 text-sm">
            <Badge tone={failed > 0 ? "bad" : "good"}>
              {passed} passed, {failed} failed
            </Badge>
            <span className="flex-1 text-ink-soft">A constitution whose own examples fail is rejected.</span>
            <Button onClick={() => void refetch()} disabled={isFetching}>
              {isFetching ? "Running …" : "Run again"}
            </Button>
          </div>
          <TestTable tests={tests} />
        </>
      )}
    </Loaded>
  );
}

/** Examples with expected and actual verdicts. */
export function TestTable({ tests }: { tests: readonly z.infer<typeof PolicyTestOutcome>[] }) {
  return (
    <Table
      label="Tests of the constitution"
      rows={tests}
      keyOf={({ name }) => name}
      empty={
        <Empty title="The constitution has no examples">
          Write some under <code>tests:</code>. They run before a change is applied.
        </Empty>
      }
      columns={[
        {
          title: "Outcome",
          isHidden: true,
          cell: ({ passed }) => (
            <span className={passed ? "text-good" : "text-bad"}>
              <span aria-hidden="true">{passed ? "✓" : "✗"}</span>
              <span className="sr-only">{passed ? "passed" : "failed"}</span>
            </span>
          ),
        },
        {
          title: "Example",
          cell: ({ name, fault }) => (
            <>
              {name}
              {fault !== null && <span className="block text-bad">{fault}</span>}
            </>
          ),
        },
        { title: "Expected", cell: ({ expected }) => <VerdictBadge verdict={expected.verdict} /> },
        { title: "Got", cell: ({ got }) => <VerdictBadge verdict={got.verdict} /> },
        {
          title: "By",
          isExact: true,
          className: "text-ink-soft",
          cell: ({ got }) => got.rule ?? "no rule",
        },
      ]}
    />
  );
}
