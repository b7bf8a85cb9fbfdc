import type { PolicyTestOutcome } from "@reins/api";
import type { z } from "zod";
import { Empty } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { VerdictBadge } from "../../design/verdict.tsx";

type Test = z.infer<typeof PolicyTestOutcome>;

/** Examples, what each should get, and what it got. */
export function TestTable({ tests }: { tests: readonly Test[] }) {
  if (tests.length === 0)
    return (
      <Empty title="The constitution has no examples">
        Write some under <code>tests:</code>. They are run before a change counts.
      </Empty>
    );
  return (
    <Table
      label="Tests of the constitution"
      columns={[
        { title: "Outcome", isHidden: true },
        { title: "Example" },
        { title: "Expected" },
        { title: "Got" },
        { title: "By" },
      ]}
    >
      {tests.map(({ name, passed, expected, got, fault }) => (
        <tr key={name}>
          <Cell className={passed ? "text-good" : "text-bad"}>
            <span aria-hidden="true">{passed ? "✓" : "✗"}</span>
            <span className="sr-only">{passed ? "passed" : "failed"}</span>
          </Cell>
          <Cell>
            {name}
            {fault !== null && <span className="block text-bad">{fault}</span>}
          </Cell>
          <Cell>
            <VerdictBadge verdict={expected.verdict} />
          </Cell>
          <Cell>
            <VerdictBadge verdict={got.verdict} />
          </Cell>
          <Cell isExact className="text-ink-soft">
            {got.rule ?? "no rule"}
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
