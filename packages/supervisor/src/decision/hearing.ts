import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "@reins/kit";
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
import type { HarnessAnswer, Harnesses } from "./harnesses.ts";
import { payloadFault } from "./payload-fault.ts";
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
    const event = { ...asked.event, payload: withArguments(asked.event, changed) };
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
    const change = await this.#hearHarnesses(course);
    if (!change) return;
    if (course.modified) {
      const why = `the rule "${course.modified.from.verdict.rule}" and the harness "${change.harness}" would change it in two ways`;
      course.settle("blocked", why, change.harness);
      return;
    }
    await this.#modifyAs(course, change);
    if (course.verdict.verdict === "blocked") return;
    // The harnesses have decided on what it was, and each has its say on what it has become.
    const further = await this.#hearHarnesses(course);
    if (!further) return;
    const why = `the harnesses "${change.harness}" and "${further.harness}" would change it in two ways`;
    course.settle("blocked", why, further.harness);
  }

  /** Takes what harnesses say that is stricter; the change that one of them makes, unless it is not let through anyway. */
  async #hearHarnesses(course: Course): Promise<HarnessChange | undefined> {
    const { harnesses } = this.#options;
    if (!harnesses) return undefined;
    let change: HarnessChange | undefined;
    for (const answer of await harnesses.ask(course.standing.policy.file.harnesses, course.event)) {
      const { harness, verdict, reason } = answer;
      if (verdict === undefined && !course.failedOpen.some((failed) => failed.harness === harness))
        course.failedOpen.push({ harness, fail: "open", error: reason });
      if (verdict === "modify") {
        const wanted = changeOf(course, answer);
        if (wanted === undefined) continue;
        if (typeof wanted === "string") course.settle("blocked", wanted, harness);
        else if (change && !isDeepStrictEqual(change.arguments, wanted.arguments))
          course.settle(
            "blocked",
            `the harnesses "${change.harness}" and "${harness}" would change it in two ways`,
            harness,
          );
        else change ??= wanted;
        continue;
      }
      if (verdict === undefined || isAtLeastAsStrict(course.verdict.verdict, verdict)) continue;
      course.settle(verdict, reason, harness);
    }
    const { verdict } = course.verdict;
    return verdict === "blocked" || verdict === "defer" ? undefined : change;
  }

  /** Goes on as what a harness made of it, decided again like what a rule made of it; what stood stays where it is stricter. */
  async #modifyAs(course: Course, { harness, arguments: changed, reason }: HarnessChange): Promise<void> {
    const { verdict: before, input, asked, standing } = course;
    const event = { ...asked.event, payload: withArguments(asked.event, changed) };
    const modified = { from: { harness, verdict: { rule: undefined }, input }, arguments: changed };
    const action = await this.#options.gatherFacts(event, asked.subject, asked.setting);
    course.become(modified, event, this.inputFor(event, action, asked.subject, standing));
    const again = course.said;
    // What was reserved was reserved for another action.
    standing.limits.release(course.uses ?? []);
    course.uses = undefined;
    bound(course);
    if (again.verdict === "modify") {
      const why = `the harness "${harness}" and the rule "${again.rule}" would change it in two ways`;
      course.settle("blocked", why, again.rule);
    } else if (!isAtLeastAsStrict(before.verdict, again.verdict)) {
      course.verdict = again;
      course.rule = again.rule;
    } else if (before.verdict === "allowed") course.settle("allowed", reason, harness);
    reserve(course);
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
    course.settle("blocked", errorMessage(error), undefined);
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
  { event, input }: Course,
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
