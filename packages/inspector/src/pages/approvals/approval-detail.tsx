import { type Approval, approvalOperations } from "@reins/api";
import { type ReactNode, useState } from "react";
import { useGet } from "../../api/queries.ts";
import { Badge, LevelBadge, type Tone } from "../../design/badge.tsx";
import { Hash } from "../../design/button.tsx";
import { Code, Diff, Json } from "../../design/code.tsx";
import { visible, visibleLine, words } from "../../design/format.ts";
import { Facts } from "../../design/layout.tsx";
import { SessionLink } from "../../design/markdown.tsx";
import { Loaded } from "../../design/states.tsx";
import { effectText, exactCall } from "./action-text.ts";

/** The effects and the exact call of an approval. */
export function ApprovalWhat({ approval: { facts, unreadable } }: { approval: Approval }) {
  return (
    <>
      {unreadable !== undefined && (
        <p role="alert" className="text-sm text-warn">
          This request cannot be shown exactly, so it can only be denied: {visibleLine(unreadable)}
        </p>
      )}
      <ul className="flex flex-col gap-0.5 font-mono text-xs">
        {facts.effects.map((effect) => (
          <li key={JSON.stringify(effect)} className="whitespace-pre-wrap break-all">
            {effectText(effect)}
          </li>
        ))}
        {facts.opaque && <li className="text-warn">may do more than Reins can determine</li>}
        {facts.doubts.map((doubt) => (
          <li key={doubt} className="text-warn">
            not known: {visibleLine(doubt)}
          </li>
        ))}
      </ul>
      <ExactCallView given={facts.arguments} />
    </>
  );
}

/** Why, for whom and where an approval is requested. */
export function ApprovalFacts({ approval }: { approval: Approval }) {
  const { facts, reason, rule, user, agent, chain, session, cwd, quorum, answers, entry } = approval;
  const { title } = facts.claims;
  const through = chain.length > 0 ? ` through ${visibleLine(chain.join(", "))}` : "";
  return (
    <>
      <div className="-mx-3">
        <Facts
          facts={{
            Reason: `${visibleLine(reason)}${rule === undefined ? "" : ` (rule ${visibleLine(rule)})`}`,
            "On behalf of": `${visibleLine(user)}, by ${visibleLine(agent)}${through}`,
            Session: <SessionLink id={session} length={12} />,
            Folder: <code className="text-xs whitespace-pre-wrap break-all">{visibleLine(cwd)}</code>,
            Level: <LevelBadge level={approval.enforcement} />,
            "The agent says": typeof title === "string" && <q>{visibleLine(title)}</q>,
            Answers: quorum > 1 && `${answers.length} of ${quorum} that are needed`,
            "Recorded as": <Hash value={entry} />,
          }}
        />
      </div>
      <ExactWords id={approval.id} />
    </>
  );
}

/** The server's description of what an answer binds. */
function ExactWords({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="cursor-pointer text-2xs text-ink-faint">
        Exact description of what an answer binds
      </summary>
      <Loaded query={useApproval(id, isOpen)} what="Loading the description">
        {(approval) =>
          "description" in approval && <Code text={approval.description} className="mt-1 max-h-72" />
        }
      </Loaded>
    </details>
  );
}

/** The exact call, with hidden characters escaped. */
export function ExactCallView({ given }: { given: unknown }) {
  const call = exactCall(given);
  if (call.kind === "arguments") return <Json value={call.value ?? null} className="max-h-60" />;
  return (
    <WithRest rest={call.rest}>
      {call.kind === "command" ? (
        <Code text={`$ ${call.command}`} className="max-h-60" />
      ) : (
        <Diff path={call.path} before={call.before} after={call.after} />
      )}
    </WithRest>
  );
}

function WithRest({ rest, children }: { rest: Readonly<Record<string, unknown>>; children: ReactNode }) {
  if (Object.keys(rest).length === 0) return children;
  return (
    <div className="flex flex-col gap-1">
      {children}
      <p className="text-2xs text-ink-faint">and with these arguments</p>
      <Json value={rest} className="max-h-60" />
    </div>
  );
}

const TONES: Readonly<Record<Approval["state"], Tone>> = {
  pending: "warn",
  approved: "good",
  used: "good",
  denied: "bad",
  expired: "neutral",
  withdrawn: "neutral",
};

export function ApprovalState({ state }: Pick<Approval, "state">) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}

/** One answer: decision, user and reason. */
export function GivenAnswer({ answer }: { answer: Approval["answers"][number] }) {
  return (
    <>
      {words(answer.decision)} by {visible(answer.by)}
      {answer.note !== undefined && <q className="block text-ink-soft">{visible(answer.note)}</q>}
    </>
  );
}

/** One approval with its description, fetched when `enabled`. */
export function useApproval(id: string, enabled: boolean) {
  return useGet(["approval", id], approvalOperations.getApproval, { params: { id }, enabled });
}
