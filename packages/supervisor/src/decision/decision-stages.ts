import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "@reins/kit";
import {
  type Action,
  afterModify,
  type ControlEvent,
  type DecisionInput,
  excessOf,
  isAtLeastAsStrict,
  permitsAction,
  type Subject,
  simpleCommand,
  withMembers,
} from "@reins/policy";
import type { Approvals } from "../approvals/approvals.ts";
import type { ApprovalRequest } from "../approvals/request.ts";
import type { DecisionContext, GatherFacts, InputState, TargetState } from "./decision-context.ts";
import type { HarnessAnswer, Harnesses } from "./harnesses.ts";
import type { TenantState } from "./tenant-state.ts";

/** Who is heard. */
export interface DecisionStagesOptions {
  readonly approvals: Approvals;
  readonly gatherFacts: GatherFacts;
  readonly targetState?: TargetState;
  readonly inputState?: InputState;
  readonly harnesses?: Harnesses;
  readonly now: () => number;
}

/** Hears everybody who has a say after the policy: bounds, limits, external harnesses and people, each only stricter. */
export class DecisionStages {
  readonly #options: DecisionStagesOptions;

  constructor(options: DecisionStagesOptions) {
    this.#options = options;
  }

  /** What an action is decided by. */
  inputFor(
    { event_type }: ControlEvent,
    action: Action,
    subject: Subject,
    { history }: TenantState,
  ): DecisionInput {
    const at = this.#options.now();
    return { event_type, action, subject, counters: history.counters(subject, at), at };
  }

  /** Takes a decision from what the policy says to what it comes to. */
  async run(context: DecisionContext): Promise<void> {
    // Most decisions need none of these, and nothing is waited for that need not be.
    bound(context);
    const { ask } = context.request.requestContext;
    if (ask !== undefined && context.rule === undefined && context.verdict.verdict === "allowed")
      context.settle("ask", ask, undefined);
    if (context.verdict.patch) await this.#modify(context);
    reserve(context);
    if (context.state.policy.file.harnesses.length > 0) await this.#askHarnesses(context);
    if (context.verdict.verdict === "ask") await this.#askPeople(context);
    if (context.request.requestContext.confirm && permitsAction(context.outcome)) await confirm(context);
  }

  /** A modified action is decided again as what it has become; one that would be modified further is blocked. */
  async #modify(context: DecisionContext): Promise<void> {
    const { verdict: first, input, request, state } = context;
    if (first.verdict !== "modify" || !first.patch) return;
    const changed = withMembers(input.action.arguments, first.patch);
    const event = { ...request.event, payload: withArguments(request.event, changed) };
    const modified = { from: { verdict: first, input }, arguments: changed };
    const action = await this.#options.gatherFacts(event, request.subject, request.requestContext);
    context.become(modified, event, this.inputFor(event, action, request.subject, state));
    const again = context.said;
    const outcome = afterModify(first, again);
    if (outcome === first) return;
    context.verdict = again;
    context.rule = again.rule;
    if (outcome === again) return;
    const why = `the rules "${first.rule}" and "${again.rule}" would change it in two ways`;
    context.settle(outcome.verdict, why, again.rule);
  }

  async #askHarnesses(context: DecisionContext): Promise<void> {
    const change = await this.#consultHarnesses(context);
    if (!change) return;
    if (context.modified) {
      const why = `the rule "${context.modified.from.verdict.rule}" and the harness "${change.harness}" would change it in two ways`;
      context.settle("blocked", why, change.harness);
      return;
    }
    await this.#modifyAs(context, change);
    if (context.verdict.verdict === "blocked") return;
    // The harnesses have decided on what it was, and each has its say on what it has become.
    const further = await this.#consultHarnesses(context);
    if (!further) return;
    const why = `the harnesses "${change.harness}" and "${further.harness}" would change it in two ways`;
    context.settle("blocked", why, further.harness);
  }

  /** Applies stricter verdicts of harnesses; returns the change that one of them makes, unless the action is blocked anyway. */
  async #consultHarnesses(context: DecisionContext): Promise<HarnessChange | undefined> {
    const { harnesses } = this.#options;
    if (!harnesses) return undefined;
    let change: HarnessChange | undefined;
    for (const answer of await harnesses.ask(context.state.policy.file.harnesses, context.event)) {
      const { harness, verdict, reason } = answer;
      if (verdict === undefined && !context.failedOpen.some((failed) => failed.harness === harness))
        context.failedOpen.push({ harness, fail: "open", error: reason });
      if (verdict === "modify") {
        const wanted = changeOf(context, answer);
        if (wanted === undefined) continue;
        if (typeof wanted === "string") context.settle("blocked", wanted, harness);
        else if (change && !isDeepStrictEqual(change.arguments, wanted.arguments))
          context.settle(
            "blocked",
            `the harnesses "${change.harness}" and "${harness}" would change it in two ways`,
            harness,
          );
        else change ??= wanted;
        continue;
      }
      if (verdict === undefined || isAtLeastAsStrict(context.verdict.verdict, verdict)) continue;
      context.settle(verdict, reason, harness);
    }
    const { verdict } = context.verdict;
    return verdict === "blocked" || verdict === "defer" ? undefined : change;
  }

  /** Goes on as what a harness made of it, decided again like what a rule made of it; what stood stays where it is stricter. */
  async #modifyAs(
    context: DecisionContext,
    { harness, arguments: changed, reason }: HarnessChange,
  ): Promise<void> {
    const { verdict: before, input, request, state } = context;
    const event = { ...request.event, payload: withArguments(request.event, changed) };
    const modified = { from: { harness, verdict: { rule: undefined }, input }, arguments: changed };
    const action = await this.#options.gatherFacts(event, request.subject, request.requestContext);
    context.become(modified, event, this.inputFor(event, action, request.subject, state));
    const again = context.said;
    // What was reserved was reserved for another action.
    state.limits.release(context.uses ?? []);
    context.uses = undefined;
    bound(context);
    if (again.verdict === "modify") {
      const why = `the harness "${harness}" and the rule "${again.rule}" would change it in two ways`;
      context.settle("blocked", why, again.rule);
    } else if (!isAtLeastAsStrict(before.verdict, again.verdict)) {
      context.verdict = again;
      context.rule = again.rule;
    } else if (before.verdict === "allowed") context.settle("allowed", reason, harness);
    reserve(context);
  }

  /** A question is put to people once; an answer to the same action, or a grant for it, settles it. */
  async #askPeople(context: DecisionContext): Promise<void> {
    if (context.verdict.verdict !== "ask") return;
    const { approvals, targetState, inputState } = this.#options;
    const { request, input, verdict, rule, isLimited } = context;
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
      reason: verdict.reason,
      ...(isLimited && { options: ["allow_once", "deny"] }),
      ...(verdict.quorum !== undefined && { quorum: verdict.quorum }),
      ...(verdict.approvers && { approvers: verdict.approvers }),
      ...(verdict.four_eyes && { four_eyes: true }),
      ...(verdict.expires_ms !== undefined && { expires_ms: verdict.expires_ms }),
    };
    const settled = await approvals.settled(question);
    if (!settled || (isLimited && settled.grant)) {
      context.approval = await approvals.seek(question);
      return;
    }
    const { approval, change: use } = settled;
    context.approval = approval;
    context.changes = use ? [use] : [];
    context.settle(settled.verdict, settled.reason, rule);
    reserve(context, { approved: approval !== undefined });
    // What a grant allows may still be beyond a limit that asks.
    await this.#askPeople(context);
  }
}

/** Blocks what exceeds the bounds that the session was given. */
function bound(context: DecisionContext): void {
  const { request, input } = context;
  const beyond = request.requestContext.bounds?.(request.event, input.action.tool);
  if (beyond !== undefined) context.settle("blocked", beyond, undefined);
}

function reserve(context: DecisionContext, by: { readonly approved?: boolean } = {}): void {
  if (!permitsAction(context.outcome) || context.uses) return;
  const outcome = context.state.limits.reserve(context.input, by);
  if (outcome.passed) context.uses = outcome.uses;
  else context.settle(outcome.verdict, outcome.reason, outcome.limit);
  context.isLimited = !outcome.passed;
}

/** Blocks when the requester lost its rights while the other stages ran. */
async function confirm(context: DecisionContext): Promise<void> {
  try {
    await context.request.requestContext.confirm?.();
  } catch (error) {
    context.settle("blocked", errorMessage(error), undefined);
  }
}

/** The payload with other arguments; what is said to a model stands in the payload itself. */
function withArguments({ event_type, payload }: ControlEvent, args: unknown): unknown {
  const inPlace = event_type === "pre_prompt" ? membersOf(args) : {};
  return { ...membersOf(payload), ...inPlace, arguments: args };
}

/** What a harness puts in the place of the arguments. */
interface HarnessChange {
  readonly harness: string;
  readonly reason: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The change in the answer of a harness; nothing where it changes nothing, and a text where it cannot be made. */
function changeOf(
  { event, input }: DecisionContext,
  { harness, reason, modified }: HarnessAnswer,
): HarnessChange | string | undefined {
  const refused = (why: string) => `the harness "${harness}" would change it ${why}`;
  if (payloadFault(modified) !== undefined) return refused("to what is no payload");
  const given = membersOf(modified);
  const payload = membersOf(event.payload);
  if (event.event_type === "pre_prompt") {
    const isSame = Object.entries(given).every(([name, value]) => isDeepStrictEqual(value, payload[name]));
    return isSame ? undefined : { harness, reason, arguments: given };
  }
  const tool = given.tool_name ?? given.tool;
  const isWhole = Object.hasOwn(given, "arguments") && tool !== undefined;
  if (isWhole && tool !== payload.tool_name && tool !== payload.tool && tool !== input.action.tool)
    return refused("to the call of another tool");
  const args: unknown = isWhole ? given.arguments : given;
  if (payloadFault(args) !== undefined) return refused("to what are no arguments");
  return isDeepStrictEqual(args, input.action.arguments)
    ? undefined
    : { harness, reason, arguments: membersOf(args) };
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Why a payload cannot be judged; `undefined` when it can. */
export function payloadFault(payload: unknown): string | undefined {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload))
    return "the payload is no object";
  const excess = excessOf(payload);
  if (excess !== undefined) return `the payload is ${excess}`;
  return isWellFormed(payload) ? undefined : "the payload holds half of a surrogate pair, which is no text";
}

/** Whether all texts in a value are; it is known not to be nested deep. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.keys(value).every(isWellFormed) && Object.values(value).every(isWellFormed);
}
