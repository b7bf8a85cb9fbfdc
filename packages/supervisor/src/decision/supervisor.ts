import { randomUUID } from "node:crypto";
import type { Draft, Ledger } from "@reins/ledger";
import {
  type Action,
  type ControlEvent,
  type DecisionInput,
  isAtLeastAsStrict,
  type Policy,
  type PolicyVerdict,
  type RuleVerdict,
  type Subject,
} from "@reins/policy";
import { type Change, change, type Store } from "@reins/store";
import type { Approval, Approvals } from "../approvals/approvals.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Limits } from "../limits/limits.ts";
import { limitTables } from "../limits/tables.ts";
import type { Usage, Use } from "../limits/usage.ts";
import type { Commitment } from "../record/commitment.ts";
import { sessionKey } from "../record/session-key.ts";
import { BufferedRecords } from "./buffered-records.ts";
import type { Decided } from "./decided.ts";
import type { Harnesses } from "./harnesses.ts";
import { type CallEnd, type OpenCall, OpenCalls } from "./open-calls.ts";
import { applyPatch } from "./patch.ts";
import { type Standing, Standings } from "./standing.ts";
import { verdictDraft } from "./verdict-record.ts";
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
  /** Told when a verdict could not be written. */
  readonly onRecordError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

/** One decision on its way: what it is about and what has been settled so far. */
interface Course {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly setting: Setting;
  readonly policy: Policy;
  readonly standing: Standing;
  /** What the policy itself said. */
  readonly first: PolicyVerdict;
  input: DecisionInput;
  verdict: PolicyVerdict;
  rule: string | undefined;
  modified: unknown;
  uses: readonly Use[];
  approval: Approval | undefined;
  changes: Change<unknown>[];
  remarks: string[];
}

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
  readonly #buffered: BufferedRecords;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#buffered = new BufferedRecords(options.ledger, options.onRecordError ?? (() => undefined));
    this.#standings = new Standings({
      ...options,
      now: () => this.#clock.now().getTime(),
      newId: options.newId ?? randomUUID,
    });
  }

  /** The verdict on an event. Never rejects. */
  async decide(event: ControlEvent, subject: Subject, setting: Setting): Promise<Decided> {
    try {
      const policy = this.#options.policyFor(subject.tenant);
      if (!policy) return this.#withoutPolicy(event, subject);
      return await this.#standings.under(subject.tenant, policy, async (standing) => {
        const course = await this.#begin(event, subject, setting, standing);
        await this.#applyPatch(course);
        this.#reserve(course);
        await this.#askHarnesses(course);
        await this.#askPeople(course);
        return this.#conclude(course);
      });
    } catch (error) {
      return blocked(subject, `it could not be decided: ${textOf(error)}`);
    }
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
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy) return false;
    const at = this.#clock.now().getTime();
    const base = { tool, effects: [], doubts: [], claims: {}, arguments: {} };
    const counters = this.#standings.of(subject.tenant)?.history.counters(subject, at) ?? {};
    // Seen as harmless as it could be, and as dark: one of the two is enough to offer it.
    return [false, true].some((opaque) => {
      const action = { ...base, opaque };
      return policy.decide({ event_type: "pre_action", action, subject, counters, at }).verdict !== "blocked";
    });
  }

  /**
   * Notes the end of something that was let through, and what it took. `undefined` says that nothing was let through
   * that it could be the end of.
   */
  async settle(subject: Subject, end: CallEnd, usage: Partial<Usage> = {}): Promise<OpenCall | undefined> {
    const call = this.#open.take(sessionKey(subject), end);
    if (!call || call.uses.length === 0) return call;
    const time_ms = usage.time_ms ?? Math.max(0, this.#clock.now().getTime() - call.at);
    const uses = this.#standings.of(subject.tenant)?.limits.settle(call.uses, { ...usage, time_ms });
    if (uses) await this.#options.store.commit([change(limitTables, "keep", { uses })], { durable: false });
    return call;
  }

  /** Writes down what is not yet. */
  close(): Promise<void> {
    return this.#buffered.flush();
  }

  /** Takes out what a session that ended had under way; what came of it is unknown. */
  abandon(subject: Subject): readonly OpenCall[] {
    return this.#open.takeAll(sessionKey(subject));
  }

  async #begin(event: ControlEvent, subject: Subject, setting: Setting, standing: Standing): Promise<Course> {
    const { policy } = standing;
    const input = await this.#inputFor(event, subject, setting, standing);
    const verdict = policy.decide(input);
    return {
      event,
      subject,
      setting,
      policy,
      standing,
      first: verdict,
      input,
      verdict,
      rule: verdict.rule,
      modified: undefined,
      uses: [],
      approval: undefined,
      changes: [],
      remarks: [],
    };
  }

  async #inputFor(
    event: ControlEvent,
    subject: Subject,
    setting: Setting,
    { history }: Standing,
  ): Promise<DecisionInput> {
    const action = await this.#options.gatherFacts(event, subject, setting);
    const at = this.#clock.now().getTime();
    return {
      event_type: event.event_type,
      action,
      subject,
      counters: history.counters(subject, at),
      at,
    };
  }

  /** A modified action is decided again as what it has become; one that would be modified further is blocked. */
  async #applyPatch(course: Course): Promise<void> {
    if (course.verdict.verdict !== "modify" || !course.verdict.patch) return;
    const first = course.verdict;
    const modified = applyPatch(course.input.action.arguments, course.verdict.patch);
    const event = { ...course.event, payload: withArguments(course.event.payload, modified) };
    course.input = await this.#inputFor(event, course.subject, course.setting, course.standing);
    const again = course.policy.decide(course.input);
    if (again.verdict === "modify" && again.rule !== first.rule) {
      this.#settle(
        course,
        "blocked",
        `the rules "${first.rule}" and "${again.rule}" would change it in two ways`,
        again.rule,
      );
      return;
    }
    course.modified = modified;
    if (again.verdict === "allowed" || again.verdict === "modify") return;
    course.verdict = again;
    course.rule = again.rule;
  }

  #reserve(course: Course): void {
    if (!letsThrough(course.verdict.verdict)) return;
    const outcome = course.standing.limits.reserve(course.input);
    if (outcome.passed) course.uses = outcome.uses;
    else this.#settle(course, outcome.verdict, outcome.reason, outcome.limit);
  }

  async #askHarnesses(course: Course): Promise<void> {
    const { harnesses } = this.#options;
    if (!harnesses || course.policy.file.harnesses.length === 0) return;
    for (const answer of await harnesses.ask(course.policy.file.harnesses, course.event)) {
      if (answer.remark !== undefined) course.remarks.push(answer.remark);
      if (answer.verdict === undefined || isAtLeastAsStrict(course.verdict.verdict, answer.verdict)) continue;
      this.#settle(course, answer.verdict, answer.reason, answer.harness);
    }
  }

  /** A question is put to people once; an answer to the same action, or a grant for it, settles it. */
  async #askPeople(course: Course): Promise<void> {
    if (course.verdict.verdict !== "ask") return;
    const { approvals, targetState } = this.#options;
    const { subject, setting, input, verdict } = course;
    const request = {
      subject,
      event_type: input.event_type,
      facts: input.action,
      cwd: setting.workplace.cwd,
      target_state: (await targetState?.(input.action)) ?? {},
      ...(setting.turn !== undefined && { turn: setting.turn }),
      ...(verdict.rule !== undefined && { rule: verdict.rule }),
      reason: verdict.reason,
      ...(verdict.quorum !== undefined && { quorum: verdict.quorum }),
      ...(verdict.expires_ms !== undefined && { expires_ms: verdict.expires_ms }),
    };
    const settled = await approvals.settled(request);
    if (!settled) {
      course.approval = await approvals.seek(request);
      return;
    }
    const { approval, change: use } = settled;
    if (approval) course.approval = approval;
    if (use) course.changes.push(use);
    this.#settle(course, settled.verdict, settled.reason, verdict.rule);
    if (settled.verdict === "allowed") this.#reserve(course);
  }

  /** Writes the verdict down, and only then lets it out. */
  async #conclude(course: Course): Promise<Decided> {
    const { input, subject, verdict, policy, standing } = course;
    const modified = course.modified !== undefined && verdict.verdict === "modify";
    const decided: Omit<Decided, "entry"> = {
      verdict: verdict.verdict,
      reason: verdict.reason,
      rule: course.rule,
      enforcement: subject.enforcement,
      ...(course.approval && { approval: course.approval.id }),
      ...(verdict.retry_after_ms !== undefined && { retry_after_ms: verdict.retry_after_ms }),
      ...(modified && { modified_arguments: course.modified }),
    };
    const { hashes, argumentPaths } = policy;
    const { first, remarks, event } = course;
    const rest = { hashes, policy: first, argumentPaths, remarks };
    const draft = () => verdictDraft({ input, decided, ...rest, commitment: this.#commitTo(event) });
    if (letsThrough(verdict.verdict)) return this.#release(course, decided, draft);
    standing.limits.release(course.uses);
    await this.#buffered.add(draft);
    return { ...decided, entry: undefined };
  }

  /** Lets something through, once that is on the disk. */
  async #release(course: Course, decided: Omit<Decided, "entry">, draft: () => Draft): Promise<Decided> {
    const { input, subject, standing, uses, changes } = course;
    standing.history.note(input);
    this.#buffered.hurry();
    const kept = uses.length > 0 ? [change(limitTables, "keep", { uses })] : [];
    try {
      const { entries } = await this.#options.ledger.record([draft()], { with: [...changes, ...kept] });
      const entry = entries[0]?.cid;
      if (entry !== undefined) this.#noteOpen(course, entry);
      return { ...decided, entry };
    } catch (error) {
      standing.limits.release(uses);
      this.#options.onRecordError?.(error);
      return blocked(subject, `the verdict could not be written: ${textOf(error)}`);
    }
  }

  #settle(course: Course, verdict: RuleVerdict, reason: string, rule: string | undefined): void {
    const { patch: _, ...rest } = course.verdict;
    course.verdict = { ...rest, verdict, reason };
    course.rule = rule;
  }

  async #withoutPolicy(event: ControlEvent, subject: Subject): Promise<Decided> {
    const decided = blocked(subject, "no policy is loaded");
    const action: Action = {
      tool: toolIn(event.payload),
      effects: [],
      opaque: true,
      doubts: [],
      claims: {},
      arguments: {},
    };
    const at = this.#clock.now().getTime();
    const input: DecisionInput = { event_type: event.event_type, action, subject, counters: {}, at };
    const record = { input, decided, hashes: undefined, argumentPaths: [], remarks: [] };
    await this.#buffered.add(() => verdictDraft({ ...record, commitment: this.#commitTo(event) }));
    return decided;
  }

  #commitTo({ payload }: ControlEvent): string | undefined {
    return this.#options.commitment?.to(payload);
  }

  #noteOpen({ input, subject, uses }: Course, entry: string): void {
    const { event_type, at, action } = input;
    this.#open.add(sessionKey(subject), { entry, tool: action.tool, event_type, uses, at });
  }
}

function letsThrough(verdict: RuleVerdict): boolean {
  return verdict === "allowed" || verdict === "modify";
}

function blocked(subject: Subject, reason: string): Decided {
  return { verdict: "blocked", reason, rule: undefined, enforcement: subject.enforcement, entry: undefined };
}

function withArguments(payload: unknown, args: unknown): unknown {
  return typeof payload === "object" && payload !== null
    ? { ...payload, arguments: args }
    : { arguments: args };
}

function toolIn(payload: unknown): string {
  if (typeof payload !== "object" || payload === null) return "";
  const { tool_name, tool } = { tool_name: undefined, tool: undefined, ...payload };
  return String(tool_name ?? tool ?? "");
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
