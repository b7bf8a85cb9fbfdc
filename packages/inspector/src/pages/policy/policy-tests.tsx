import { type PolicyTestOutcome, studyOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import { call } from "../../api/call.ts";
import { Badge, VerdictBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";

/** Runs the examples of the constitution. */
export function PolicyTests() {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["policy-tests"],
    queryFn: ({ signal }) => call(studyOperations.testPolicy, { body: {}, signal }),
  });
  if (error)
    return (
      <div className="p-3">
        <Failure error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (!data) return <Waiting what="Running the tests of the constitution" />;
  return (
    <>
      <div className="flex items-center gap-2 px-3 py-2 text-sm">
        <Badge tone={data.failed > 0 ? "bad" : "good"}>
          {data.passed} passed, {data.failed} failed
        </Badge>
        <span className="flex-1 text-ink-soft">A constitution whose own examples fail is rejected.</span>
        <Button onClick={() => void refetch()} disabled={isFetching}>
          {isFetching ? "Running …" : "Run again"}
        </Button>
      </div>
      <TestTable tests={data.tests} />
    </>
  );
}

type Test = z.infer<typeof PolicyTestOutcome>;

/** Examples with expected and actual verdicts. */
export function TestTable({ tests }: { tests: readonly Test[] }) {
  if (tests.length === 0)
    return (
      <Empty title="The constitution has no examples">
        Write some under <code>tests:</code>. They run before a change is applied.
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
