import { randomUUID } from "node:crypto";
import type { Ledger } from "@reins/ledger";
import {
  type Action,
  afterModify,
  type ControlEvent,
  type DecisionInput,
  isAtLeastAsStrict,
  letsThrough,
  type Policy,
  type PolicyVerdict,
  type Subject,
  withMembers,
} from "@reins/policy";
import { change, type Store } from "@reins/store";
import type { Approvals } from "../approvals/approvals.ts";
import type { ApprovalRequest } from "../approvals/request.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Limits } from "../limits/limits.ts";
import { limitTables } from "../limits/tables.ts";
import type { Usage } from "../limits/usage.ts";
import type { Commitment } from "../record/commitment.ts";
import { sessionKey } from "../record/session-key.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { type Asked, Course } from "./course.ts";
import type { Decided } from "./decided.ts";
import type { Harnesses } from "./harnesses.ts";
import { type CallEnd, type OpenCall, OpenCalls } from "./open-calls.ts";
import { payloadFault } from "./payload-fault.ts";
import { type Standing, Standings } from "./standing.ts";
import type { VerdictRecord } from "./verdict-record.ts";
import { VerdictWriter } from "./verdict-writer.ts";
import type { Setting } from "./workplace.ts";

/** Finds out what an event would do. */
export type GatherFacts = (event: ControlEvent, subject: Subject, setting: Setting) => Promise<Action>;

/** Tells the state of what an action would change, so that an answer counts for exactly that. */
export type TargetState = (action: Action) => Promise<Readonly<Record<string, string>>>;

/** What a supervisor stands on. */
export interface SupervisorOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  /** The policy of a tenant, as it is in force now; none blocks everything. */
  readonly policyFor: (tenant: string) => Policy | undefined;
  readonly gatherFacts: GatherFacts;
  readonly targetState?: TargetState;
  readonly harnesses?: Harnesses;
  /** Commits to what an agent sent, which itself is not recorded. */
  readonly commitment?: Pick<Commitment, "to">;
  /** Takes secrets out of what is recorded; by default those that are known by their form. */
  readonly redactor?: Redactor;
  /** Told when a verdict could not be written. */
  readonly onRecordError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

/** Somebody who counts. Must be quick, and must not throw. */
export interface SupervisorObserver {
  /** Told of a verdict, and how long it took in milliseconds; people's time is not in it. */
  readonly decided: (decided: Decided, ms: number) => void;
  /** Told what a turn took, as far as its agent told. */
  readonly turnEnded: (usage: Partial<Usage>) => void;
}

/** How often a decision is begun anew because the policy was swapped meanwhile. */
const MAX_SWAPS = 5;
const MAX_REASON = 1_000;

/**
 * Decides on control events: facts, then policy, then limits, then external harnesses, then people, each only stricter
 * than the one before. A verdict that lets something through is on the disk before it is released; whatever goes wrong
 * on the way is a block with the reason.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #standings: Standings;
  readonly #open = new OpenCalls();
  readonly #writer: VerdictWriter;
  readonly #observers = new Set<SupervisorObserver>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const now = () => this.#clock.now().getTime();
    this.#writer = new VerdictWriter({ ...options, now });
    this.#standings = new Standings({ ...options, now, newId: options.newId ?? randomUUID });
  }

  /** Tells an observer of everything that is decided from now on; the returned function ends that. */
  observe(observer: SupervisorObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** The verdict on an event. Never rejects. */
  async decide(event: ControlEvent, subject: Subject, setting: Setting): Promise<Decided> {
    if (this.#observers.size === 0) return this.#decide(event, subject, setting);
    const begun = performance.now();
    const decided = await this.#decide(event, subject, setting);
    const ms = performance.now() - begun;
    for (const { decided: tell } of this.#observers) tell(decided, ms);
    return decided;
  }

  async #decide(event: ControlEvent, subject: Subject, setting: Setting): Promise<Decided> {
    const asked = { event, subject, setting };
    try {
      const fault = payloadFault(event.payload);
      if (fault !== undefined) return await this.#refuse(asked, fault);
      for (let swaps = 0; swaps <= MAX_SWAPS; swaps += 1) {
        const policy = this.#options.policyFor(subject.tenant);
        if (!policy) return await this.#refuse(asked, "no policy is loaded");
        const decided = await this.#standings.under(subject.tenant, policy, (standing) =>
          this.#decideUnder(standing, asked),
        );
        if (decided) return decided;
      }
      return await this.#refuse(asked, "the policy changed again and again while it was being decided");
    } catch (error) {
      return this.#refuse(asked, `it could not be decided: ${textOf(error)}`);
    }
  }

  /** What an event would be decided by, under the policy in force. Nothing is decided or recorded by it. */
  async preview(event: ControlEvent, subject: Subject, setting: Setting): Promise<DecisionInput | undefined> {
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy) return undefined;
    return this.#standings.under(subject.tenant, policy, async (standing) => {
      const action = await this.#options.gatherFacts(event, subject, setting);
      return this.#inputFor(event, action, subject, standing);
    });
  }

  /** What a subject has used of each limit that its policy sets. */
  async budget(subject: Subject): Promise<ReturnType<Limits["report"]>> {
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy) return [];
    return this.#standings.under(subject.tenant, policy, async ({ limits }) =>
      limits.report(subject, this.#clock.now().getTime()),
    );
  }

  /**
   * Whether whatever a subject might do with a tool would be blocked, so that it need not be offered. Nothing is decided
   * or recorded by it.
   */
  mayUse(tool: string, subject: Subject): boolean {
    const outlook = this.outlook(tool, subject);
    return outlook !== undefined && outlook.verdict !== "blocked";
  }

  /**
   * What the policy has for a tool before anybody knows what it is to do: what it says to the most harmless use, or to
   * the darkest where that is blocked. `undefined` when there is no policy. Nothing is decided or recorded by it.
   */
  outlook(tool: string, subject: Subject): PolicyVerdict | undefined {
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy) return undefined;
    const at = this.#clock.now().getTime();
    const base = { tool, effects: [], doubts: [], claims: {}, arguments: {} };
    const counters = this.#standings.of(subject.tenant)?.history.counters(subject, at) ?? {};
    const [harmless, dark] = [false, true].map((opaque) => {
      const action = { ...base, opaque };
      return policy.decide({ event_type: "pre_action", action, subject, counters, at });
    });
    return harmless?.verdict === "blocked" ? dark : harmless;
  }

  /** What the policy says to an event as things are; `undefined` when there is none. Nothing is decided or recorded by it. */
  async foresee(event: ControlEvent, subject: Subject, setting: Setting): Promise<PolicyVerdict | undefined> {
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy || payloadFault(event.payload) !== undefined) return undefined;
    const action = await this.#options.gatherFacts(event, subject, setting);
    const at = this.#clock.now().getTime();
    const counters = this.#standings.of(subject.tenant)?.history.counters(subject, at) ?? {};
    return policy.decide({ event_type: event.event_type, action, subject, counters, at });
  }

  /**
   * Notes the end of something that was let through, and what it took. `undefined` says that nothing was let through
   * that it could be the end of.
   */
  async settle(subject: Subject, end: CallEnd, usage: Partial<Usage> = {}): Promise<OpenCall | undefined> {
    if (end.event_type === "pre_prompt") for (const { turnEnded } of this.#observers) turnEnded(usage);
    const call = this.#open.take(sessionKey(subject), end);
    if (!call || call.uses.length === 0) return call;
    const time_ms = usage.time_ms ?? Math.max(0, this.#clock.now().getTime() - call.at);
    const uses = this.#standings.of(subject.tenant)?.limits.settle(call.uses, { ...usage, time_ms });
    if (uses) await this.#options.store.commit([change(limitTables, "keep", { uses })], { durable: false });
    return call;
  }

  /** Writes down what is not yet. */
  close(): Promise<void> {
    return this.#writer.flush();
  }

  /** Takes out what a session that ended had under way; what came of it is unknown. */
  abandon(subject: Subject): readonly OpenCall[] {
    return this.#open.takeAll(sessionKey(subject));
  }

  /** `undefined` when what would be let through was decided by a policy that is in force no more. */
  async #decideUnder(standing: Standing, asked: Asked): Promise<Decided | undefined> {
    const { event, subject, setting } = asked;
    const action = await this.#options.gatherFacts(event, subject, setting);
    const course = new Course(asked, standing, this.#inputFor(event, action, subject, standing));
    try {
      // Most decisions need none of these, and nothing is waited for that need not be.
      this.#bound(course);
      if (course.verdict.patch) await this.#modify(course);
      this.#reserve(course);
      if (standing.policy.file.harnesses.length > 0) await this.#askHarnesses(course);
      if (course.verdict.verdict === "ask") await this.#askPeople(course);
      if (setting.confirm && letsThrough(course.outcome)) await this.#confirm(course);
      if (letsThrough(course.outcome) && !this.#isInForce(course)) {
        standing.limits.release(course.uses ?? []);
        return undefined;
      }
      return await this.#conclude(course);
    } catch (error) {
      standing.limits.release(course.uses ?? []);
      throw error;
    }
  }

  #inputFor(
    { event_type }: ControlEvent,
    action: Action,
    subject: Subject,
    { history }: Standing,
  ): DecisionInput {
    const at = this.#clock.now().getTime();
    return { event_type, action, subject, counters: history.counters(subject, at), at };
  }

  #bound(course: Course): void {
    const { asked, input } = course;
    const beyond = asked.setting.bounds?.(asked.event, input.action.tool);
    if (beyond !== undefined) course.settle("blocked", beyond, undefined);
  }

  /** A modified action is decided again as what it has become; one that would be modified further is blocked. */
  async #modify(course: Course): Promise<void> {
    const { verdict: first, input, asked, standing } = course;
    if (first.verdict !== "modify" || !first.patch) return;
    const changed = withMembers(input.action.arguments, first.patch);
    const event = { ...asked.event, payload: withArguments(asked.event.payload, changed) };
    const modified = { from: { verdict: first, input }, arguments: changed };
    const action = await this.#options.gatherFacts(event, asked.subject, asked.setting);
    course.become(modified, event, this.#inputFor(event, action, asked.subject, standing));
    const again = course.said;
    const outcome = afterModify(first, again);
    if (outcome === first) return;
    course.verdict = again;
    course.rule = again.rule;
    if (outcome === again) return;
    const why = `the rules "${first.rule}" and "${again.rule}" would change it in two ways`;
    course.settle(outcome.verdict, why, again.rule);
  }

  #reserve(course: Course, by: { readonly approved?: boolean } = {}): void {
    if (!letsThrough(course.outcome) || course.uses) return;
    const outcome = course.standing.limits.reserve(course.input, by);
    if (outcome.passed) course.uses = outcome.uses;
    else course.settle(outcome.verdict, outcome.reason, outcome.limit);
    course.isLimited = !outcome.passed;
  }

  async #askHarnesses(course: Course): Promise<void> {
    const { harnesses } = this.#options;
    const named = course.standing.policy.file.harnesses;
    if (!harnesses || named.length === 0) return;
    for (const answer of await harnesses.ask(named, course.event)) {
      if (answer.remark !== undefined) course.remarks.push(answer.remark);
      if (answer.verdict === undefined || isAtLeastAsStrict(course.verdict.verdict, answer.verdict)) continue;
      course.settle(answer.verdict, answer.reason, answer.harness);
    }
  }

  /** A question is put to people once; an answer to the same action, or a grant for it, settles it. */
  async #askPeople(course: Course): Promise<void> {
    if (course.verdict.verdict !== "ask") return;
    const { approvals, targetState } = this.#options;
    const { asked, input, verdict, rule, isLimited } = course;
    const { subject, setting } = asked;
    const request: ApprovalRequest = {
      subject,
      event_type: input.event_type,
      facts: input.action,
      cwd: setting.workplace.cwd,
      target_state: (await targetState?.(input.action)) ?? {},
      ...(setting.turn !== undefined && { turn: setting.turn }),
      ...(rule !== undefined && { rule }),
      reason: verdict.reason,
      ...(isLimited && { options: ["allow_once", "deny"] }),
      ...(verdict.quorum !== undefined && { quorum: verdict.quorum }),
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
    this.#reserve(course, { approved: approval !== undefined });
    // What a grant allows may still be beyond a limit that asks.
    await this.#askPeople(course);
  }

  /** Whoever asked may have lost the right to while others were heard. */
  async #confirm(course: Course): Promise<void> {
    if (!letsThrough(course.outcome)) return;
    try {
      await course.asked.setting.confirm?.();
    } catch (error) {
      course.settle("blocked", textOf(error), undefined);
    }
  }

  #isInForce({ asked, standing }: Course): boolean {
    return this.#options.policyFor(asked.subject.tenant) === standing.policy;
  }

  /** Writes the verdict down, and only then lets it out. */
  #conclude(course: Course): Promise<Decided> {
    const { asked, input, verdict, outcome, standing, modified, said, remarks } = course;
    const decided: Omit<Decided, "entry"> = {
      verdict: outcome,
      reason: verdict.reason,
      rule: course.rule,
      enforcement: asked.subject.enforcement,
      ...(course.approval && { approval: course.approval.id }),
      ...(verdict.retry_after_ms !== undefined && { retry_after_ms: verdict.retry_after_ms }),
      ...(modified && outcome === "modify" && { modified_arguments: modified.arguments }),
    };
    const { hashes, argumentPaths } = standing.policy;
    const record = {
      input,
      decided,
      hashes,
      policy: said,
      modifiedFrom: modified?.from,
      argumentPaths,
      remarks,
    };
    return letsThrough(outcome) ? this.#release(course, record) : this.#hold(course, record);
  }

  /** Lets nothing through; that is written a little later. */
  async #hold({ asked, standing, uses = [] }: Course, record: VerdictRecord): Promise<Decided> {
    standing.limits.release(uses);
    const { room, written } = this.#writer.later(asked, record);
    if (room) await room;
    return { ...record.decided, entry: undefined, written };
  }

  /** Lets something through, once that is on the disk. */
  async #release(course: Course, record: VerdictRecord): Promise<Decided> {
    const { asked, input, standing, uses = [], changes } = course;
    standing.history.note(input);
    const kept = uses.length > 0 ? [change(limitTables, "keep", { uses })] : [];
    try {
      const { entries } = await this.#writer.now(asked, record, [...changes, ...kept]);
      const entry = entries[0]?.cid;
      if (changes.length > 0) this.#options.approvals.announce();
      if (entry !== undefined) this.#noteOpen(course, entry);
      return { ...record.decided, entry };
    } catch (error) {
      standing.history.takeBack(input);
      standing.limits.release(uses);
      this.#writer.tell(error);
      return this.#refuse(asked, `the verdict could not be written: ${textOf(error)}`);
    }
  }

  /** Blocks what could not be decided, or not be written. */
  async #refuse(asked: Asked, reason: string): Promise<Decided> {
    const decided = blocked(asked.subject, reason);
    const { room, written } = this.#writer.refused(asked, decided);
    if (room) await room;
    return { ...decided, written };
  }

  #noteOpen({ input, asked, uses = [] }: Course, entry: string): void {
    const { event_type, at, action } = input;
    this.#open.add(sessionKey(asked.subject), { entry, tool: action.tool, event_type, uses, at });
  }
}

function blocked(subject: Subject, reason: string): Decided {
  return { verdict: "blocked", reason, rule: undefined, enforcement: subject.enforcement, entry: undefined };
}

function withArguments(payload: unknown, args: unknown): unknown {
  return typeof payload === "object" && payload !== null
    ? { ...payload, arguments: args }
    : { arguments: args };
}

/** What an error says, in as many words as go into a record. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, MAX_REASON).toWellFormed();
}
