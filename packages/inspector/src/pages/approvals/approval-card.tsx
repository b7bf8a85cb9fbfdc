import type { Approval } from "@reins/api";
import { useEffect, useRef } from "react";
import { Badge } from "../../design/badge.tsx";
import { classNames } from "../../design/class-names.ts";
import { lengthOf, useNow } from "../../design/moment.tsx";
import { visibleLine } from "../../design/visible.ts";
import { AnswerBar } from "./answer-bar.tsx";
import { ApprovalFacts, ApprovalWhat } from "./approval-detail.tsx";
import { effectText } from "./effect-text.ts";

/** An approval that waits: a line, and when it is chosen everything about it. */
export function ApprovalCard({
  approval,
  isChosen,
  onChoose,
}: {
  approval: Approval;
  isChosen: boolean;
  onChoose: () => void;
}) {
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) place.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  const [first] = approval.facts.effects;
  return (
    <li ref={place} className="rounded border border-line bg-surface" data-approval={approval.id}>
      <button
        type="button"
        aria-expanded={isChosen}
        onClick={onChoose}
        className={classNames(
          "flex w-full cursor-pointer flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 text-left hover:bg-sunken",
          isChosen && "border-b border-line",
        )}
      >
        <span className="font-medium">{visibleLine(approval.agent)}</span>
        <span className="min-w-0 flex-1 basis-40 truncate font-mono text-xs whitespace-pre">
          {first && !isChosen ? effectText(first) : visibleLine(approval.tool)}
        </span>
        <TimeLeft until={approval.expires_at} />
      </button>
      {isChosen && (
        <div className="flex flex-col gap-3 px-3 py-2.5">
          <div className="flex flex-col gap-2">
            <ApprovalWhat approval={approval} />
            <ApprovalFacts approval={approval} />
          </div>
          <AnswerBar key={approval.id} approval={approval} hasKeys />
        </div>
      )}
    </li>
  );
}

/** How long there is to answer. */
function TimeLeft({ until }: { until: string }) {
  const left = new Date(until).getTime() - useNow(1_000);
  return (
    <Badge tone={left < 60_000 ? "bad" : "neutral"} title={`until ${new Date(until).toLocaleString()}`}>
      {left > 0 ? `${lengthOf(left)} left` : "expired"}
    </Badge>
  );
}
