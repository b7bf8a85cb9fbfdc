import type { PolicyStatus } from "@reins/api";
import { VerdictBadge } from "../../design/badge.tsx";
import { formatValue } from "../../design/format.ts";
import { Markdown } from "../../design/markdown.tsx";
import { Empty } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";

/** The constitution in force: prose, and rules in their order. */
export function Constitution({ status: { in_force, prose } }: { status: PolicyStatus }) {
  return (
    <div className="grid xl:grid-cols-[minmax(0,1fr)_24rem]">
      {in_force ? (
        <Table
          label="Rules: the first that matches decides"
          columns={[
            { title: "#", isNumber: true },
            { title: "Verdict" },
            { title: "Rule and reason" },
            { title: "If" },
          ]}
        >
          {in_force.rules.map((rule, place) => (
            <tr key={rule.name}>
              <Cell isNumber className="text-ink-faint">
                {place + 1}
              </Cell>
              <Cell>
                <VerdictBadge verdict={rule.verdict} />
              </Cell>
              <Cell className="min-w-56">
                <code className="text-xs">{rule.name}</code>
                <span className="block text-ink-soft">{rule.reason}</span>
              </Cell>
              <Cell className="min-w-64">
                <ConditionView condition={rule.condition} />
              </Cell>
            </tr>
          ))}
          <tr className="text-ink-soft">
            <Cell isNumber />
            <Cell>
              <VerdictBadge verdict="blocked" />
            </Cell>
            <Cell>no matching policy rule</Cell>
            <Cell>nothing above matched</Cell>
          </tr>
        </Table>
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

/** The condition of a rule, one line per clause. */
function ConditionView({ condition }: { condition: Readonly<Record<string, unknown>> }) {
  const clauses = Object.entries(condition);
  if (clauses.length === 0) return <span className="text-ink-soft">everything</span>;
  return (
    <ul className="flex flex-col gap-0.5">
      {clauses.map(([name, asked]) => (
        <li key={name}>
          <span className="text-ink-faint">{name.replaceAll("_", " ")} </span>
          <span className="font-mono text-xs break-words">{formatValue(asked)}</span>
        </li>
      ))}
    </ul>
  );
}
