import { afterModify, simpleCommand, withMembers } from "@reins/policy";
import type { Approvals } from "../approvals/approvals.ts";
import type { ApprovalRequest } from "../approvals/request.ts";
import type { GatherFacts, InputState, PendingDecision, TargetState } from "./decision.ts";

/** What people are asked with. */
interface ApprovalPorts {
  readonly approvals: Approvals;
  readonly targetState?: TargetState;
  readonly inputState?: InputState;
}

/** Decides a modified action again as what it has become; one that would be modified further is blocked. */
export async function modify(
  decision: PendingDecision,
  ports: { readonly gatherFacts: GatherFacts; readonly now: () => number },
): Promise<void> {
  const { verdict: first, input } = decision;
  if (first.verdict !== "modify") return;
  const { rule, patch } = first;
  await decision.become(
    { by: "rule", rule, patch, input },
    withMembers(input.action.arguments, patch),
    ports,
  );
  const again = decision.said;
  const outcome = afterModify(first, again);
  if (outcome === first) return;
  decision.adopt(again);
  if (outcome === again) return;
  decision.block(`the rules "${rule}" and "${again.rule}" would change it in two ways`, again.rule);
}

/** Asks people once; an answer to the same action, or a grant for it, settles it. */
export async function askPeople(decision: PendingDecision, ports: ApprovalPorts): Promise<void> {
  if (decision.verdict.verdict !== "ask") return;
  const { approvals, targetState, inputState } = ports;
  const { request, input, verdict, terms, isLimited } = decision;
  const { reason, rule } = verdict;
  const { subject, requestContext } = request;
  const { cwd } = requestContext.workspace;
  const [target_state = {}, input_state, command] = await Promise.all([
    targetState?.(input.action),
    inputState?.(input.action, cwd),
    simpleCommand(input.action),
  ]);
  const question: ApprovalRequest = {
    subject,
    event_type: input.event_type,
    facts: input.action,
    cwd,
    target_state,
    ...(input_state && { input_state }),
    ...(command && { command }),
    ...(requestContext.turn !== undefined && { turn: requestContext.turn }),
    ...(requestContext.askedBy !== undefined && { asked_by: requestContext.askedBy }),
    ...(rule !== undefined && { rule }),
    reason,
    ...(isLimited && { options: ["allow_once", "deny"] }),
    ...(terms.quorum !== undefined && { quorum: terms.quorum }),
    ...(terms.approvers && { approvers: terms.approvers }),
    ...(terms.four_eyes && { four_eyes: true }),
    ...(terms.expires_ms !== undefined && { expires_ms: terms.expires_ms }),
  };
  const settled = await approvals.settled(question);
  if (!settled || (isLimited && settled.grant)) {
    if (requestContext.unasked !== undefined) {
      decision.block(`${reason}; ${requestContext.unasked}`, rule);
      return;
    }
    decision.approval = await approvals.seek(question);
    return;
  }
  const { approval, change: use } = settled;
  decision.approval = approval;
  decision.changes = use ? [use] : [];
  decision.verdict = { verdict: settled.verdict, reason: settled.reason, rule };
  decision.reserve({ approved: approval !== undefined });
  // What a grant allows may still be beyond a limit that asks.
  await askPeople(decision, ports);
}
