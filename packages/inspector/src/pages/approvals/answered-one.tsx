import { Panel } from "../../design/panel.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { ApprovalFacts, ApprovalWhat } from "./approval-detail.tsx";
import { ApprovalState } from "./approval-state.tsx";
import { GivenAnswer } from "./given-answer.tsx";
import { useApproval } from "./use-approval.ts";

/** An approval that waits no more: what was asked, and what was answered. */
export function AnsweredOne({ id }: { id: string }) {
  const { data, error, refetch } = useApproval(id, true);
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <Waiting what="Fetching what was asked" />;
  if ("withheld" in data) return <Empty title="This concerns others">Its user and approvers see it.</Empty>;
  return (
    <Panel title="What was asked, and what was answered" actions={<ApprovalState state={data.state} />}>
      <div className="flex flex-col gap-2 px-3 py-2">
        <ApprovalWhat approval={data} />
        <ul className="text-sm">
          {data.answers.map((answer) => (
            <li key={`${answer.by} ${answer.decision}`}>
              <GivenAnswer answer={answer} />
            </li>
          ))}
        </ul>
        <ApprovalFacts approval={data} />
      </div>
    </Panel>
  );
}
