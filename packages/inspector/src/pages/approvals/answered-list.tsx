import { approvalOperations } from "@reins/api";
import { useGet } from "../../api/queries.ts";
import { Panel } from "../../design/layout.tsx";
import { SessionLink } from "../../design/links.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { visibleLine } from "../../design/visible.ts";
import { effectText } from "./action-text.ts";
import { ApprovalFacts, ApprovalState, ApprovalWhat, GivenAnswer, useApproval } from "./approval-detail.tsx";

/** The latest answered approvals. */
export function AnsweredList() {
  const query = useGet(["approvals", "answered"], approvalOperations.listApprovals, {
    query: { order: "newest", limit: 100 },
  });
  return (
    <Loaded query={query} what="Loading answers">
      {({ approvals }) => (
        <Table
          label="Answered approvals"
          rows={approvals.flatMap((approval) =>
            "withheld" in approval || approval.state === "pending" ? [] : [approval],
          )}
          keyOf={({ id }) => id}
          empty={
            <Empty title="No answers yet">Answered approvals are listed here with user and reason.</Empty>
          }
          columns={[
            { title: "Asked", cell: ({ created_at }) => <Moment at={created_at} /> },
            { title: "Agent", cell: ({ agent }) => visibleLine(agent) },
            {
              title: "What",
              isExact: true,
              className: "max-w-96 whitespace-pre-wrap break-all",
              cell: ({ facts: { effects, tool } }) =>
                effects[0] ? effectText(effects[0]) : visibleLine(tool),
            },
            { title: "State", cell: ({ state }) => <ApprovalState state={state} /> },
            {
              title: "Answer",
              className: "max-w-72 break-words",
              cell: ({ answers }) => {
                const last = answers.at(-1);
                return last && <GivenAnswer answer={last} />;
              },
            },
            { title: "Session", cell: ({ session }) => <SessionLink id={session} /> },
          ]}
        />
      )}
    </Loaded>
  );
}

/** One answered approval. */
export function AnsweredOne({ id }: { id: string }) {
  return (
    <Loaded query={useApproval(id, true)} what="Loading the approval">
      {(approval) =>
        "withheld" in approval ? (
          <Empty title="Not visible to you">Only its user and approvers may see it.</Empty>
        ) : (
          <Panel title="Request and answer" actions={<ApprovalState state={approval.state} />}>
            <div className="flex flex-col gap-2 px-3 py-2">
              <ApprovalWhat approval={approval} />
              <ul className="text-sm">
                {approval.answers.map((answer) => (
                  <li key={`${answer.by} ${answer.decision}`}>
                    <GivenAnswer answer={answer} />
                  </li>
                ))}
              </ul>
              <ApprovalFacts approval={approval} />
            </div>
          </Panel>
        )
      }
    </Loaded>
  );
}
