import type { Option, Question } from "../../../acp/question.ts";
import { usePendingApprovals } from "../../../app/approvals/use-pending-approvals.ts";
import { Button, type ButtonKind } from "../../../design/button.tsx";
import { visible, visibleLine } from "../../../design/visible.ts";
import { AnswerBar } from "../../approvals/answer-bar.tsx";
import { ApprovalFacts, ApprovalWhat } from "../../approvals/approval-detail.tsx";
import { ExactCallView } from "../../approvals/exact-call-view.tsx";

const KINDS: Readonly<Record<string, ButtonKind>> = {
  allow_once: "primary",
  allow_always: "plain",
  reject_once: "danger",
  reject_always: "danger",
};

/** What an agent asks leave for, answered in place. Where an approval stands for it, the answer goes to that. */
export function PermissionPanel({ question }: { question: Extract<Question, { kind: "permission" }> }) {
  const { call, options, reason, approval: id } = question;
  const approval = usePendingApprovals().data?.find((one) => one.id === id);
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium whitespace-pre-wrap break-words">May it? {visible(call?.title ?? "")}</p>
      {approval ? (
        <>
          <ApprovalWhat approval={approval} />
          <details>
            <summary className="cursor-pointer text-sm text-ink-soft">
              Asked because {visibleLine(approval.reason)}
            </summary>
            <ApprovalFacts approval={approval} />
          </details>
          <AnswerBar approval={approval} />
        </>
      ) : (
        <>
          {reason !== undefined && <p className="text-sm text-ink-soft">{visibleLine(reason)}</p>}
          {call?.input !== undefined && <ExactCallView given={call.input} />}
          <div className="flex flex-wrap gap-1.5">
            {options.map((option) => (
              <Button
                key={option.optionId}
                kind={KINDS[option.kind] ?? "plain"}
                onClick={() => question.answer(chosen(option))}
              >
                {visibleLine(option.name)}
              </Button>
            ))}
          </div>
        </>
      )}
    </div>
  );
}

function chosen({ optionId }: Option): unknown {
  return { outcome: { outcome: "selected", optionId } };
}
