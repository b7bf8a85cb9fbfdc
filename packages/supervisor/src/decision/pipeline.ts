import { errorMessage } from "@reins/kit";
import {
  afterModify,
  type DecisionInput,
  type Policy,
  permitsAction,
  simpleCommand,
  withMembers,
} from "@reins/policy";
import { type Change, change } from "@reins/store";
import type { Approvals } from "../approvals/approvals.ts";
import type { ApprovalRequest } from "../approvals/request.ts";
import type { TenantState, TenantStates } from "../limits/limits.ts";
import { limitTables, type Use } from "../limits/tables.ts";
import {
  type Decided,
  type DecisionRequest,
  type GatherFacts,
  type InputState,
  inputFor,
  PendingDecision,
  payloadFault,
  type TargetState,
  type Unrecorded,
} from "./decision.ts";
import { askHarnesses, type Harnesses } from "./harnesses.ts";
import type { OpenCalls } from "./supervisor.ts";
import type { VerdictRecord, VerdictWriter } from "./verdict-record.ts";

/** What the stages work with. */
export interface PipelinePorts {
  /** The policy of a tenant, as it is in force now; none blocks everything. */
  readonly policyFor: (tenant: string) => Policy | undefined;
  readonly states: TenantStates;
  readonly gatherFacts: GatherFacts;
  readonly targetState?: TargetState;
  readonly inputState?: InputState;
  readonly harnesses?: Harnesses;
  readonly approvals: Approvals;
  readonly writer: VerdictWriter;
  /** Holds allowed calls until their end is reported. */
  readonly open: OpenCalls;
  readonly now: () => number;
}

/**
 * A stage after the policy, which can only make the verdict stricter. One that waits says when it has to: between the
 * policy and the commit nothing may be counted, so nothing is awaited that need not be.
 */
type Stage =
  | { readonly name: string; readonly run: (decision: PendingDecision) => void }
  | {
      readonly name: string;
      readonly applies: (decision: PendingDecision) => boolean;
      readonly wait: (decision: PendingDecision, ports: PipelinePorts) => Promise<void>;
    };

/** The stages between policy and commit, in order. */
const STAGES: readonly Stage[] = [
  { name: "bounds of the session", run: (decision) => decision.checkBounds() },
  { name: "ask where no rule matches", run: askUnmatched },
  { name: "modify", applies: ({ verdict }) => verdict.verdict === "modify", wait: modify },
  { name: "limits", run: (decision) => decision.reserve() },
  {
    name: "external harnesses",
    applies: ({ state }) => state.policy.file.harnesses.length > 0,
    wait: askHarnesses,
  },
  { name: "approval", applies: ({ verdict }) => verdict.verdict === "ask", wait: askPeople },
  {
    name: "rights of the requester",
    applies: ({ request, outcome }) => request.requestContext.confirm !== undefined && permitsAction(outcome),
    wait: confirm,
  },
];

/** How often a decision is begun anew because the policy was swapped meanwhile. */
const MAX_SWAPS = 5;

/** Decides an event: payload, policy in force, facts, policy, {@link STAGES}, commit. Whatever fails on the way blocks. */
export async function decide(request: DecisionRequest, ports: PipelinePorts): Promise<Decided> {
  try {
    const fault = payloadFault(request.event.payload);
    if (fault !== undefined) return await refuseEvent(request, fault, ports);
    for (let swaps = 0; swaps <= MAX_SWAPS; swaps += 1) {
      const { tenant } = request.subject;
      const policy = ports.policyFor(tenant);
      if (!policy) return await refuseEvent(request, "no policy is loaded", ports);
      const decided = await ports.states.under(tenant, policy, (state) => decideUnder(state, request, ports));
      if (decided) return decided;
    }
    return await refuseEvent(request, "the policy changed again and again while it was being decided", ports);
  } catch (error) {
    return refuseEvent(request, `it could not be decided: ${errorMessage(error)}`, ports);
  }
}

/** Returns `undefined` when an allowing verdict comes from a policy that is no longer in force. */
async function decideUnder(
  state: TenantState,
  request: DecisionRequest,
  ports: PipelinePorts,
): Promise<Decided | undefined> {
  const { event, subject, requestContext } = request;
  const action = await ports.gatherFacts(event, subject, requestContext);
  const decision = new PendingDecision(request, state, inputFor(request, action, state, ports.now()));
  try {
    for (const stage of STAGES)
      if ("run" in stage) stage.run(decision);
      else if (stage.applies(decision)) await stage.wait(decision, ports);
    if (permitsAction(decision.outcome) && ports.policyFor(subject.tenant) !== state.policy) {
      state.limits.release(decision.uses ?? []);
      return undefined;
    }
    return await commit(decision, ports);
  } catch (error) {
    state.limits.release(decision.uses ?? []);
    throw error;
  }
}

/** Asks people about what no rule is about, where the session wants that. */
function askUnmatched(decision: PendingDecision): void {
  const { ask } = decision.request.requestContext;
  const { verdict, rule } = decision.verdict;
  if (ask === undefined || rule !== undefined || verdict !== "allowed") return;
  decision.verdict = { verdict: "ask", reason: ask, rule };
}

/** Decides a modified action again as what it has become; one that would be modified further is blocked. */
async function modify(decision: PendingDecision, ports: PipelinePorts): Promise<void> {
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
async function askPeople(decision: PendingDecision, ports: PipelinePorts): Promise<void> {
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

/** Blocks when the requester lost its rights while the other stages ran. */
async function confirm(decision: PendingDecision): Promise<void> {
  try {
    await decision.request.requestContext.confirm?.();
  } catch (error) {
    decision.block(errorMessage(error), undefined);
  }
}

/** Writes the verdict: one that allows something before it is returned, any other a little later. */
async function commit(decision: PendingDecision, ports: PipelinePorts): Promise<Decided> {
  const { request, input, state, modified, said, failedOpen, uses = [] } = decision;
  const { hashes, argumentPaths } = state.policy;
  const decided = unrecorded(decision);
  const record = {
    input,
    decided,
    hashes,
    policy: said,
    modifiedFrom: modified?.from,
    argumentPaths,
    failedOpen,
  };
  if (permitsAction(decided.verdict)) return commitAllowed(decision, record, ports);
  state.limits.release(uses);
  const { room, written } = ports.writer.later(request, record);
  if (room) await room;
  return { ...decided, written };
}

async function commitAllowed(
  { request, input, state, uses = [], changes }: PendingDecision,
  record: VerdictRecord,
  ports: PipelinePorts,
): Promise<Decided> {
  const { writer, approvals, open } = ports;
  state.history.note(input);
  try {
    const kept = usesKept(input, state, uses);
    const { entries } = await writer.now(request, record, [...changes, ...kept]);
    const entry = entries[0]?.cid;
    if (changes.length > 0) approvals.announce();
    const { event_type, at, action } = input;
    if (entry !== undefined) open.add(request.subject, { entry, tool: action.tool, event_type, uses, at });
    return { ...record.decided, entry };
  } catch (error) {
    state.history.takeBack(input);
    state.limits.release(uses);
    writer.report(error);
    return refuseEvent(request, `the verdict could not be written: ${errorMessage(error)}`, ports);
  }
}

/** The changes of limits that an allowing verdict makes. */
function usesKept(
  { at, subject }: DecisionInput,
  { limits }: TenantState,
  uses: readonly Use[],
): Change<undefined>[] {
  if (uses.length === 0) return [];
  const before = limits.forgetOld(at);
  const kept = change(limitTables, "keep", { uses });
  if (before === undefined) return [kept];
  return [kept, change(limitTables, "forget", { tenant: subject.tenant, before })];
}

function unrecorded({ request, verdict, approval, modified }: PendingDecision): Unrecorded {
  const { reason, rule } = verdict;
  const { enforcement } = request.subject;
  const base = { reason, rule, enforcement, entry: undefined, ...(approval && { approval: approval.id }) };
  if (modified && permitsAction(verdict.verdict))
    return { ...base, verdict: "modify", modified_arguments: modified.arguments };
  switch (verdict.verdict) {
    case "allowed":
    case "blocked":
      return { ...base, verdict: verdict.verdict };
    case "defer":
      return { ...base, verdict: "defer", retry_after_ms: verdict.retry_after_ms };
    case "ask":
      if (approval) return { ...base, verdict: "ask", approval: approval.id };
  }
  throw new Error(`no stage carried out the verdict "${verdict.verdict}"`);
}

/** Blocks what could not be decided or not be written, on the record. */
export async function refuseEvent(
  request: DecisionRequest,
  reason: string,
  { writer }: Pick<PipelinePorts, "writer">,
): Promise<Decided> {
  const { enforcement } = request.subject;
  const decided: Unrecorded = { verdict: "blocked", reason, rule: undefined, enforcement, entry: undefined };
  const { room, written } = writer.refused(request, decided);
  if (room) await room;
  return { ...decided, written };
}
