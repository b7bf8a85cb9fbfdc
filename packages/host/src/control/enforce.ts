import { setTimeout as wait } from "node:timers/promises";
import type { Decided, DecisionInput, Harness, Workspace } from "@reins/supervisor";
import { awaitAnswer, give, type Offer, offerApproval, type Rewrite } from "./ask-clients.ts";
import {
  type ActionPayload,
  argumentsOf,
  type ControlPoint,
  type ControlRequest,
  decidersOf,
  isPreparation,
  requestFor,
  type StartOutOfReach,
  toolOf,
  traitsOf,
} from "./control-point.ts";
import { hasHarnesses, noteAllowed, policyOf, recordSeen } from "./outcome.ts";
import type { AgentProfile, AskableScope, ControlScope, SubjectContext } from "./scope.ts";

/** The caller that waits for a verdict. */
export interface Waiting {
  /** Aborts when it waits no longer. */
  readonly signal: AbortSignal;
  /** Whether it has stopped waiting; known without the signal where that is made on demand. */
  readonly isOver?: boolean;
  /** Called with each approval that is waited for. */
  readonly onAsk?: ((approval: string) => void) | undefined;
}

/** What becomes of a control point. */
export type Enforced =
  /** The action may be done as it was requested. */
  | { readonly kind: "allowed"; readonly verdict: Decided }
  /** The action may be done with these arguments only. */
  | { readonly kind: "modified"; readonly arguments: unknown; readonly verdict: Decided }
  /** The action may not be done. */
  | { readonly kind: "refused"; readonly reason: string; readonly verdict: Decided };

/**
 * Enforces a control point: makes its event, has it decided, waits for people where a rule asks, and records what
 * follows. Rejects only when the caller has stopped waiting.
 */
export async function enforce(
  scope: AskableScope,
  point: ControlPoint,
  waiting: Waiting = UNLIMITED,
): Promise<Enforced> {
  const { profile } = scope.context;
  const expressed = {
    inexpressible: (modified: Modified) => whyInexpressible(point, modified, profile),
    ...(isDone(point) && { unasked: "it was done before a person could be asked" }),
    ...(isDeferred(scope, point) && { deferred: true }),
  };
  const { mode = "default", claimedMode = mode } = scope;
  const isClaimed = claimedMode !== mode && point.kind !== "setting" && (await readsMode(scope));
  const stricter = isClaimed && (await isStricter(claimedMode, mode, scope, point));
  const requested = (wanted: ControlPoint) => {
    const made = stricter ? requestFor(scope, wanted, claimedMode) : requestFor(scope, wanted);
    return { ...made, requestContext: { ...made.requestContext, ...expressed } };
  };
  let request = requested(point);
  const again = (rewritten?: Rewrite) => {
    request.uncount?.();
    request = requested(rewritten ? withArguments(point, rewritten.arguments) : point);
    return request;
  };
  const verdict = await decide(scope, point, { request, requested: again }, waiting).catch(
    (error: unknown) => {
      request.uncount?.();
      throw error;
    },
  );
  const enforced = enforcedBy(point, verdict, profile);
  if (enforced.kind === "refused") request.uncount?.();
  else await noteAllowed(scope, point, request, verdict);
  recordSeen(scope, point, request.subject);
  return enforced;
}

/** Whether rules ask for the mode. Those of a tenant that has just come to be are loaded first. */
async function readsMode(scope: ControlScope): Promise<boolean> {
  const { harness, principal } = scope.context;
  const policy = policyOf(scope) ?? (await harness.policies.load(principal.tenant));
  return policy?.readsMode === true;
}

/**
 * Whether the policy decides a point more strictly in the mode that the agent claims to be in than in the one that Reins
 * set; otherwise the latter counts, so that a claim gains nothing. It counts for no setting, by which a client may bring
 * the agent out of the mode.
 */
async function isStricter(
  claimedMode: string,
  mode: string,
  scope: ControlScope,
  point: ControlPoint,
): Promise<boolean> {
  const strictnessIn = async (one: string) => {
    const { event, subject, requestContext } = requestFor(scope, point, one);
    const foreseen = await scope.context.harness.supervisor.foresee(event, subject, requestContext);
    return foreseen === undefined ? VERDICTS.length : VERDICTS.indexOf(foreseen.verdict);
  };
  const [set, claimed] = await Promise.all([strictnessIn(mode), strictnessIn(claimedMode)]);
  return claimed > set;
}

/** Verdicts from the loosest to the strictest. */
const VERDICTS = ["allowed", "modify", "defer", "ask", "blocked"];

const UNLIMITED: Waiting = { signal: new AbortController().signal };

async function decide(
  scope: AskableScope,
  point: ControlPoint,
  {
    request,
    requested,
  }: {
    readonly request: ControlRequest;
    readonly requested: (rewritten?: Rewrite) => ControlRequest;
  },
  waiting: Waiting,
): Promise<Decided> {
  const { harness } = scope.context;
  switch (decidersOf(point)) {
    case "rules_and_people":
      return awaitVerdict(harness, request, waiting, offerFor(scope, point), requested);
    case "rules":
      return decideRequest(harness, request);
    case "rules_alone":
      return decideUnasked(harness, request);
  }
}

/** Decides a request, and blocks one whose subject has lost its rights; both are on the record. */
function decideRequest(
  { supervisor }: Pick<Harness, "supervisor">,
  { event, subject, requestContext, forbidden }: ControlRequest,
): Promise<Decided> {
  return forbidden === undefined
    ? supervisor.decide(event, subject, requestContext)
    : supervisor.refuse(event, subject, requestContext, forbidden);
}

/**
 * Decides by rules alone: what would need a person is refused without a record, and blocked where an external harness
 * asks for one.
 */
export function decideUnasked(
  harness: Pick<Harness, "supervisor">,
  request: ControlRequest,
): Promise<Decided> {
  const unattended = { unattended: true, unasked: "no person is asked about it" };
  return decideRequest(harness, {
    ...request,
    requestContext: { ...request.requestContext, ...unattended },
  });
}

type Deciders = Pick<Harness, "supervisor" | "approvals">;

/** How often one call may be rewritten before it is blocked. */
const MOST_REWRITES = 5;

/**
 * Decides until there is a final verdict: waits for people's answers, and asks again after a deferral, each time for the
 * requester as it is then. A call that a person rewrites is decided anew, and where a rule asks about that too, the same
 * answer counts. Rejects only when the caller has stopped waiting.
 */
export async function awaitVerdict(
  deciders: Deciders,
  first: ControlRequest,
  waiting: Waiting,
  offer: Offer,
  again: (rewritten?: Rewrite) => ControlRequest = () => first,
): Promise<Decided> {
  let rewrite: Rewrite | undefined;
  let rewrites = 0;
  let isAnswered = false;
  for (let request = first; ; request = again(rewrite)) {
    if (waiting.isOver ?? waiting.signal.aborted) throw waiting.signal.reason;
    const decided = await decideRequest(deciders, request);
    switch (decided.verdict) {
      case "defer":
        await wait(decided.retry_after_ms, undefined, { signal: waiting.signal });
        break;
      case "ask": {
        const { approval } = decided;
        waiting.onAsk?.(approval);
        if (rewrite && !isAnswered) {
          isAnswered = true;
          const { by, decision: option } = rewrite;
          await give(deciders, { id: approval }, by, { kind: "granted", option });
        }
        const asking = {
          id: decided.approval,
          tenant: request.subject.tenant,
          signal: waiting.signal,
          offer,
        };
        const answered = await awaitAnswer(deciders, asking);
        if ("rewrite" in answered) {
          rewrites += 1;
          await deciders.approvals.withdrawOne(approval, asking.tenant, "its arguments were rewritten");
          if (rewrites > MOST_REWRITES)
            return { ...decided, verdict: "blocked", reason: "its arguments were rewritten too often" };
          rewrite = answered.rewrite;
          isAnswered = false;
          break;
        }
        const { state } = answered;
        if (state === "expired" || state === "withdrawn") return unanswered(decided, state);
        break;
      }
      case "allowed":
        return rewrite ? { ...decided, verdict: "modify", modified_arguments: rewrite.arguments } : decided;
      default:
        return decided;
    }
  }
}

function unanswered(decided: Decided, state: "expired" | "withdrawn"): Decided {
  const why = state === "expired" ? "no answer came in time" : "the question was withdrawn";
  return { ...decided, verdict: "blocked", reason: `${decided.reason}; ${why}` };
}

/** Blocks the start of a session whose folder is out of reach, on the record. */
export function refuseStart(
  context: SubjectContext & {
    readonly harness: Pick<Harness, "supervisor">;
    readonly workspace: Workspace;
  },
  point: StartOutOfReach,
): Promise<Decided> {
  const { workspace, harness } = context;
  const place = { workspace, served: workspace };
  const scope = { context, id: "none", record: {}, depth: 0, ...place, toolCalls: { begun: 0 } };
  return decideRequest(harness, requestFor(scope, point));
}

/** A point with other arguments. */
function withArguments(point: ControlPoint, given: unknown): ControlPoint {
  if (point.kind === "tool_call") {
    // The agent's title is of the call as it was.
    const { title: _, ...payload } = point.payload;
    return { ...point, payload: { ...payload, arguments: given } };
  }
  return point.kind === "mcp_call" ? { ...point, arguments: given } : point;
}

/** Whether a person may permit a call with other arguments than its own: what performs it applies them. */
function isRewritable(point: ControlPoint, profile: AgentProfile): boolean {
  if (point.kind !== "tool_call" && point.kind !== "mcp_call") return false;
  return appliesModified(point, profile);
}

/** Asks the clients of a session: on the card of the agent's call, or on one that Reins makes when it is needed. */
function offerFor(scope: AskableScope, point: ControlPoint): Offer {
  const rewritable = { isRewritable: isRewritable(point, scope.context.profile) };
  if (point.kind === "tool_call" || point.kind === "graph_action")
    return offerApproval(scope, point.call.id, rewritable);
  let offer: Offer | undefined;
  return (approval, signal) => {
    const about = { tool: toolOf(point), rawInput: argumentsOf(point) };
    // Asked again, it is the same question.
    offer ??= offerApproval(scope, `reins-${scope.context.newId()}`, { about, ...rewritable });
    return offer(approval, signal);
  };
}

/** The arguments that replace those of a point, if any do. */
type Modified = { readonly arguments: unknown } | undefined;

/**
 * Whether the verdict on a point is written with that on the request to a model for which the point prepares: nothing is
 * done by it before. An external harness would be sent advice at once, so where there is one nothing is deferred.
 */
function isDeferred({ turn, context }: ControlScope, point: ControlPoint): boolean {
  if (!turn || !isPreparation(point)) return false;
  return !hasHarnesses(context);
}

/** Whether a point is about what was done before its verdict. */
function isDone({ kind }: ControlPoint): boolean {
  return kind === "after_the_fact" || kind === "unprompted_work";
}

/** Why a point cannot be allowed, as it is or with other arguments: the agent could not be sent the verdict. */
export function whyInexpressible(
  point: ControlPoint,
  modified: Modified,
  profile: Pick<AgentProfile, "modifiedCalls">,
): string | undefined {
  if (modified && !appliesModified(point, profile))
    return `it would pass with ${JSON.stringify(modified.arguments)}, which the agent cannot be sent`;
  if (point.kind === "tool_call" && !point.takesOnce) return "the agent takes no permission for once";
  return undefined;
}

function appliesModified(
  point: ControlPoint,
  { modifiedCalls }: Pick<AgentProfile, "modifiedCalls">,
): boolean {
  const { modified } = traitsOf(point);
  return modified === "applied" || (modified === "by_profile" && modifiedCalls === "performed");
}

/** What a verdict means for a point; one that the point cannot express is refused. */
export function enforcedBy(
  point: ControlPoint,
  verdict: Decided,
  profile: Pick<AgentProfile, "modifiedCalls">,
): Enforced {
  switch (verdict.verdict) {
    case "allowed":
      if (whyInexpressible(point, undefined, profile) === undefined) return { kind: "allowed", verdict };
      break;
    case "modify": {
      const modified = { arguments: verdict.modified_arguments };
      if (whyInexpressible(point, modified, profile) === undefined)
        return { kind: "modified", ...modified, verdict };
    }
  }
  return { kind: "refused", reason: verdict.reason, verdict };
}

/**
 * Whether the rules allow a call without asking a person. Decides and records nothing, so it is no permission: it may only
 * narrow what a verdict allowed, as the search tool does with the files it found.
 */
export async function isAllowedUnasked(scope: ControlScope, payload: ActionPayload): Promise<boolean> {
  const point = {
    kind: "tool_call",
    payload,
    call: { id: "foreseen", reported: {} },
    takesOnce: true,
  } as const;
  return isForeseen(scope.context.harness, requestFor(scope, point));
}

/** Whether the policy would allow a request now, without limits, bounds and other harnesses. */
export async function isForeseen(
  { supervisor }: Pick<Harness, "supervisor">,
  { event, subject, requestContext, forbidden }: ControlRequest,
): Promise<boolean> {
  if (forbidden !== undefined) return false;
  return (await supervisor.foresee(event, subject, requestContext))?.verdict === "allowed";
}

/** What an action would do as things are now: a link may lead elsewhere than when it was decided. */
export async function factsOf(
  scope: ControlScope,
  payload: ActionPayload,
  tools: "agent" | "acp",
): Promise<DecisionInput["action"] | undefined> {
  const point = { kind: "after_the_fact", payload, tools } as const;
  const { event, subject, requestContext } = requestFor(scope, point);
  return (await scope.context.harness.supervisor.preview(event, subject, requestContext))?.action;
}
