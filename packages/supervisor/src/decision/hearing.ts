import {
  type Action,
  afterModify,
  type ControlEvent,
  type DecisionInput,
  isAtLeastAsStrict,
  letsThrough,
  type Subject,
  simpleCommand,
  withMembers,
} from "@reins/policy";
import type { Approvals } from "../approvals/approvals.ts";
import type { ApprovalRequest } from "../approvals/request.ts";
import type { Course } from "./course.ts";
import { errorText } from "./error-text.ts";
import type { Harnesses } from "./harnesses.ts";
import type { GatherFacts, InputState, TargetState } from "./ports.ts";
import type { Standing } from "./standing.ts";

/** Who is heard. */
export interface HearingOptions {
  readonly approvals: Approvals;
  readonly gatherFacts: GatherFacts;
  readonly targetState?: TargetState;
  readonly inputState?: InputState;
  readonly harnesses?: Harnesses;
  readonly now: () => number;
}

/** Hears everybody who has a say after the policy: bounds, limits, external harnesses and people, each only stricter. */
export class Hearing {
  readonly #options: HearingOptions;

  constructor(options: HearingOptions) {
    this.#options = options;
  }

  /** What an action is decided by. */
  inputFor(
    { event_type }: ControlEvent,
    action: Action,
    subject: Subject,
    { history }: Standing,
  ): DecisionInput {
    const at = this.#options.now();
    return { event_type, action, subject, counters: history.counters(subject, at), at };
  }

  /** Takes a decision from what the policy says to what it comes to. */
  async hear(course: Course): Promise<void> {
    // Most decisions need none of these, and nothing is waited for that need not be.
    bound(course);
    const { ask } = course.asked.setting;
    if (ask !== undefined && course.rule === undefined && course.verdict.verdict === "allowed")
      course.settle("ask", ask, undefined);
    if (course.verdict.patch) await this.#modify(course);
    reserve(course);
    if (course.standing.policy.file.harnesses.length > 0) await this.#askHarnesses(course);
    if (course.verdict.verdict === "ask") await this.#askPeople(course);
    if (course.asked.setting.confirm && letsThrough(course.outcome)) await confirm(course);
  }

  /** A modified action is decided again as what it has become; one that would be modified further is blocked. */
  async #modify(course: Course): Promise<void> {
    const { verdict: first, input, asked, standing } = course;
    if (first.verdict !== "modify" || !first.patch) return;
    const changed = withMembers(input.action.arguments, first.patch);
    const event = { ...asked.event, payload: withArguments(asked.event.payload, changed) };
    const modified = { from: { verdict: first, input }, arguments: changed };
    const action = await this.#options.gatherFacts(event, asked.subject, asked.setting);
    course.become(modified, event, this.inputFor(event, action, asked.subject, standing));
    const again = course.said;
    const outcome = afterModify(first, again);
    if (outcome === first) return;
    course.verdict = again;
    course.rule = again.rule;
    if (outcome === again) return;
    const why = `the rules "${first.rule}" and "${again.rule}" would change it in two ways`;
    course.settle(outcome.verdict, why, again.rule);
  }

  async #askHarnesses(course: Course): Promise<void> {
    const { harnesses } = this.#options;
    if (!harnesses) return;
    for (const answer of await harnesses.ask(course.standing.policy.file.harnesses, course.event)) {
      if (answer.verdict === undefined)
        course.failedOpen.push({ harness: answer.harness, fail: "open", error: answer.reason });
      if (answer.verdict === undefined || isAtLeastAsStrict(course.verdict.verdict, answer.verdict)) continue;
      course.settle(answer.verdict, answer.reason, answer.harness);
    }
  }

  /** A question is put to people once; an answer to the same action, or a grant for it, settles it. */
  async #askPeople(course: Course): Promise<void> {
    if (course.verdict.verdict !== "ask") return;
    const { approvals, targetState, inputState } = this.#options;
    const { asked, input, verdict, rule, isLimited } = course;
    const { subject, setting } = asked;
    const { cwd } = setting.workplace;
    const [target_state = {}, input_state, command] = await Promise.all([
      targetState?.(input.action),
      inputState?.(input.action, cwd),
      simpleCommand(input.action),
    ]);
    const request: ApprovalRequest = {
      subject,
      event_type: input.event_type,
      facts: input.action,
      cwd,
      target_state,
      ...(input_state && { input_state }),
      ...(command && { command }),
      ...(setting.turn !== undefined && { turn: setting.turn }),
      ...(rule !== undefined && { rule }),
      reason: verdict.reason,
      ...(isLimited && { options: ["allow_once", "deny"] }),
      ...(verdict.quorum !== undefined && { quorum: verdict.quorum }),
      ...(verdict.approvers && { approvers: verdict.approvers }),
      ...(verdict.four_eyes && { four_eyes: true }),
      ...(verdict.expires_ms !== undefined && { expires_ms: verdict.expires_ms }),
    };
    const settled = await approvals.settled(request);
    if (!settled || (isLimited && settled.grant)) {
      course.approval = await approvals.seek(request);
      return;
    }
    const { approval, change: use } = settled;
    course.approval = approval;
    course.changes = use ? [use] : [];
    course.settle(settled.verdict, settled.reason, rule);
    reserve(course, { approved: approval !== undefined });
    // What a grant allows may still be beyond a limit that asks.
    await this.#askPeople(course);
  }
}

/** Blocks what is beyond what whoever began the session gave it. */
function bound(course: Course): void {
  const { asked, input } = course;
  const beyond = asked.setting.bounds?.(asked.event, input.action.tool);
  if (beyond !== undefined) course.settle("blocked", beyond, undefined);
}

function reserve(course: Course, by: { readonly approved?: boolean } = {}): void {
  if (!letsThrough(course.outcome) || course.uses) return;
  const outcome = course.standing.limits.reserve(course.input, by);
  if (outcome.passed) course.uses = outcome.uses;
  else course.settle(outcome.verdict, outcome.reason, outcome.limit);
  course.isLimited = !outcome.passed;
}

/** Whoever asked may have lost the right to while others were heard. */
async function confirm(course: Course): Promise<void> {
  try {
    await course.asked.setting.confirm?.();
  } catch (error) {
    course.settle("blocked", errorText(error), undefined);
  }
}

function withArguments(payload: unknown, args: unknown): unknown {
  return typeof payload === "object" && payload !== null
    ? { ...payload, arguments: args }
    : { arguments: args };
}
