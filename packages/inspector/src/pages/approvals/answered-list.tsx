import { type Approval, approvalOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../../api/call.ts";
import { Panel } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { visibleLine } from "../../design/visible.ts";
import { effectText } from "./action-text.ts";
import { ApprovalFacts, ApprovalState, ApprovalWhat, GivenAnswer, useApproval } from "./approval-detail.tsx";

/** The latest answered approvals. */
export function AnsweredList() {
  const { data, error, refetch } = useQuery({
    queryKey: ["approvals", "answered"],
    queryFn: ({ signal }) =>
      call(approvalOperations.listApprovals, { query: { order: "newest", limit: 100 }, signal }),
  });
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <Waiting what="Loading answers" />;
  const answered = data.approvals.flatMap((approval) =>
    "withheld" in approval || approval.state === "pending" ? [] : [approval],
  );
  if (answered.length === 0)
    return <Empty title="No answers yet">Answered approvals are listed here with user and reason.</Empty>;
  return (
    <Table
      label="Answered approvals"
      columns={[
        { title: "Asked" },
        { title: "Agent" },
        { title: "What" },
        { title: "Became" },
        { title: "Answer" },
        { title: "Session" },
      ]}
    >
      {answered.map((approval) => (
        <Row key={approval.id} approval={approval} />
      ))}
    </Table>
  );
}

function Row({ approval }: { approval: Approval }) {
  const { agent, facts, state, answers, created_at, session } = approval;
  const [first] = facts.effects;
  const last = answers.at(-1);
  return (
    <tr>
      <Cell>
        <Moment at={created_at} />
      </Cell>
      <Cell>{visibleLine(agent)}</Cell>
      <Cell isExact className="max-w-96 whitespace-pre-wrap break-all">
        {first ? effectText(first) : visibleLine(facts.tool)}
      </Cell>
      <Cell>
        <ApprovalState state={state} />
      </Cell>
      <Cell className="max-w-72 break-words">{last && <GivenAnswer answer={last} />}</Cell>
      <Cell>
        <Link to="/sessions/$id" params={{ id: session }} className="font-mono text-xs text-accent underline">
          {session.slice(0, 8)}
        </Link>
      </Cell>
    </tr>
  );
}

/** One answered approval. */
export function AnsweredOne({ id }: { id: string }) {
  const { data, error, refetch } = useApproval(id, true);
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <Waiting what="Loading the approval" />;
  if ("withheld" in data)
    return <Empty title="Not visible to you">Only its user and approvers may see it.</Empty>;
  return (
    <Panel title="Request and answer" actions={<ApprovalState state={data.state} />}>
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
