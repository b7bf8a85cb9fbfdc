import { studyOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { TestTable } from "./test-table.tsx";

/** The examples in the constitution, run now. */
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
        <span className="flex-1 text-ink-soft">
          A constitution whose own examples do not come out is not taken.
        </span>
        <Button onClick={() => void refetch()} disabled={isFetching}>
          {isFetching ? "Running …" : "Run again"}
        </Button>
      </div>
      <TestTable tests={data.tests} />
    </>
  );
}
