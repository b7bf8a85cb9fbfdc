import { type Approval, approvalOperations } from "@reins/api";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { call } from "../../api/call.ts";
import { Badge, LevelBadge, type Tone } from "../../design/badge.tsx";
import { Hash } from "../../design/button.tsx";
import { Code, Diff, Json } from "../../design/code.tsx";
import { Facts } from "../../design/layout.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { visible, visibleLine } from "../../design/visible.ts";
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
          facts={[
            [
              "Reason",
              rule === undefined ? visibleLine(reason) : `${visibleLine(reason)} (rule ${visibleLine(rule)})`,
            ],
            ["On behalf of", `${visibleLine(user)}, by ${visibleLine(agent)}${through}`],
            [
              "Session",
              <Link
                key="session"
                to="/sessions/$id"
                params={{ id: session }}
                className="font-mono text-xs text-accent underline"
              >
                {session.slice(0, 12)}
              </Link>,
            ],
            [
              "Folder",
              <code key="folder" className="text-xs whitespace-pre-wrap break-all">
                {visibleLine(cwd)}
              </code>,
            ],
            ["Held", <LevelBadge key="level" level={approval.enforcement} />],
            ...(typeof title === "string"
              ? [["The agent says", <q key="claim">{visibleLine(title)}</q>] as const]
              : []),
            ...(quorum > 1 ? [["Answers", `${answers.length} of ${quorum} that are needed`] as const] : []),
            ["Recorded as", <Hash key="entry" value={entry} />],
          ]}
        />
      </div>
      <ExactWords id={approval.id} />
    </>
  );
}

/** The server's description of what an answer binds. */
function ExactWords({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error } = useApproval(id, isOpen);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="cursor-pointer text-2xs text-ink-faint">
        Exact description of what an answer binds
      </summary>
      {data && "description" in data ? (
        <Code text={data.description} className="mt-1 max-h-72" />
      ) : error ? (
        <Failure error={error} />
      ) : (
        <Waiting what="Loading the description" />
      )}
    </details>
  );
}

/** The exact call, with hidden characters escaped. */
export function ExactCallView({ given }: { given: unknown }) {
  const call = exactCall(given);
  if (call.kind === "arguments") return <Json value={call.value ?? null} className="max-h-60" />;
  if (call.kind === "command")
    return (
      <WithRest rest={call.rest}>
        <Code text={`$ ${call.command}`} className="max-h-60" />
      </WithRest>
    );
  return (
    <WithRest rest={call.rest}>
      <Diff path={call.path} before={call.before} after={call.after} />
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
      {answer.decision.replace("_", " ")} by {visible(answer.by)}
      {answer.note !== undefined && <q className="block text-ink-soft">{visible(answer.note)}</q>}
    </>
  );
}

/** One approval with its description, fetched when `isWanted`. */
export function useApproval(id: string, isWanted: boolean) {
  return useQuery({
    queryKey: ["approval", id],
    queryFn: ({ signal }) => call(approvalOperations.getApproval, { params: { id }, signal }),
    enabled: isWanted,
  });
}
