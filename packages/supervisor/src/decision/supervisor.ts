import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "@reins/kit";
import type { Ledger } from "@reins/ledger";
import type { ControlEvent, DecisionInput, Policy, PolicyVerdict, Subject } from "@reins/policy";
import { change, type Store } from "@reins/store";
import type { Approvals } from "../approvals/approvals.ts";
import { type Limits, TenantStates } from "../limits/limits.ts";
import { limitTables, type Usage, type Use } from "../limits/tables.ts";
import { type Commitment, sessionKey } from "../record/record.ts";
import type { Redactor } from "../redaction/redactor.ts";
import {
  type Decided,
  type GatherFacts,
  type InputState,
  inputFor,
  payloadFault,
  type RequestContext,
  type TargetState,
} from "./decision.ts";
import type { Harnesses } from "./harnesses.ts";
import { decide, type PipelinePorts, refuseEvent } from "./pipeline.ts";
import { VerdictWriter } from "./verdict-record.ts";

export interface SupervisorOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  /** The policy of a tenant, as it is in force now; none blocks everything. */
  readonly policyFor: (tenant: string) => Policy | undefined;
  readonly gatherFacts: GatherFacts;
  readonly targetState?: TargetState;
  readonly inputState?: InputState;
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

/** Receives counts. Must be quick, and must not throw. */
export interface SupervisorObserver {
  /** Told of a verdict, and how long it took in milliseconds; people's time is not in it. */
  readonly decided: (decided: Decided, ms: number) => void;
  /** Told what a turn took, as far as its agent told. */
  readonly turnEnded: (usage: Partial<Usage>) => void;
}

/**
 * Decides on control events: facts, then policy, then limits, then external harnesses, then people, each only stricter
 * than the one before. A verdict that allows something is on the disk before it is returned; whatever goes wrong
 * on the way is a block with the reason.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #states: TenantStates;
  readonly #open = new OpenCalls();
  readonly #writer: VerdictWriter;
  readonly #ports: PipelinePorts;
  readonly #observers = new Set<SupervisorObserver>();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const now = () => this.#clock.now().getTime();
    this.#writer = new VerdictWriter({ ...options, now });
    this.#states = new TenantStates({ ...options, now, newId: options.newId ?? randomUUID });
    this.#ports = { ...options, states: this.#states, writer: this.#writer, open: this.#open, now };
  }

  /** Tells an observer of everything that is decided from now on; the returned function ends that. */
  observe(observer: SupervisorObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** The verdict on an event. Never rejects. */
  async decide(event: ControlEvent, subject: Subject, requestContext: RequestContext): Promise<Decided> {
    const begun = performance.now();
    const decided = await decide({ event, subject, requestContext }, this.#ports);
    const ms = performance.now() - begun;
    for (const { decided: tell } of this.#observers) tell(decided, ms);
    return decided;
  }

  /** Blocks an event whose sender may not send it, on the record. */
  async refuse(
    event: ControlEvent,
    subject: Subject,
    requestContext: RequestContext,
    reason: string,
  ): Promise<Decided> {
    const decided = await refuseEvent({ event, subject, requestContext }, reason, this.#ports);
    for (const { decided: tell } of this.#observers) tell(decided, 0);
    return decided;
  }

  /** What an event would be decided by, under the policy in force. Nothing is decided or recorded by it. */
  async preview(
    event: ControlEvent,
    subject: Subject,
    requestContext: RequestContext,
  ): Promise<DecisionInput | undefined> {
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy) return undefined;
    return this.#states.under(subject.tenant, policy, async (state) => {
      const action = await this.#options.gatherFacts(event, subject, requestContext);
      return inputFor({ event, subject }, action, state, this.#clock.now().getTime());
    });
  }

  /** What a subject has used of each limit that its policy sets. */
  async budget(subject: Subject): Promise<ReturnType<Limits["report"]>> {
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy) return [];
    return this.#states.under(subject.tenant, policy, async ({ limits }) =>
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
    const counters = this.#states.of(subject.tenant)?.history.counters(subject, at) ?? {};
    const [harmless, dark] = [false, true].map((opaque) => {
      const action = { ...base, opaque };
      return policy.decide({ event_type: "pre_action", action, subject, counters, at });
    });
    return harmless?.verdict === "blocked" ? dark : harmless;
  }

  /** What the policy says to an event as things are; `undefined` when there is none. Nothing is decided or recorded by it. */
  async foresee(
    event: ControlEvent,
    subject: Subject,
    requestContext: RequestContext,
  ): Promise<PolicyVerdict | undefined> {
    const policy = this.#options.policyFor(subject.tenant);
    if (!policy || payloadFault(event.payload) !== undefined) return undefined;
    const action = await this.#options.gatherFacts(event, subject, requestContext);
    const at = this.#clock.now().getTime();
    const counters = this.#states.of(subject.tenant)?.history.counters(subject, at) ?? {};
    return policy.decide({ event_type: event.event_type, action, subject, counters, at });
  }

  /**
   * Settles an allowed call with what it used. Returns `undefined` when no allowed call
   * matches the end.
   */
  async settle(subject: Subject, end: CallEnd, usage: Partial<Usage> = {}): Promise<OpenCall | undefined> {
    const call = this.#open.take(subject, end);
    if (!call || call.uses.length === 0) return call;
    // How long it took is the agent's word, which may count for more than what was seen from here, and not for less.
    const time_ms = Math.max(usage.time_ms ?? 0, this.#clock.now().getTime() - call.at);
    const uses = this.#states.of(subject.tenant)?.limits.settle(call.uses, { ...usage, time_ms });
    if (uses) await this.#options.store.commit([change(limitTables, "keep", { uses })], { durable: false });
    return call;
  }

  /** Reports a turn that ended to observers, with all that it used. */
  turnEnded(usage: Partial<Usage>): void {
    for (const { turnEnded } of this.#observers) turnEnded(usage);
  }

  /** Writes down what is not yet. */
  close(): Promise<void> {
    return this.#writer.flush();
  }

  /** Takes out what a session that ended had under way; what came of it is unknown. */
  abandon(subject: Subject): readonly OpenCall[] {
    return this.#open.takeAll(subject);
  }
}

/** Whose calls: those of one user's agent in one session. */
type Holder = Pick<Subject, "user" | "tenant" | "agent" | "session" | "session_key">;

/** An allowed call whose end was not reported yet. */
export interface OpenCall {
  /** The content id of its verdict. */
  readonly entry: string;
  readonly tool: string;
  readonly event_type: string;
  readonly uses: readonly Use[];
  readonly at: number;
}

/** How to tell which call ended. An agent that kept the entry of the verdict names it; else the oldest that fits counts. */
export interface CallEnd {
  readonly event_type: string;
  readonly entry?: string | undefined;
  readonly tool?: string | undefined;
}

/** How many calls of one session are remembered. */
const MAX_OPEN = 1_000;
/** How many sessions are. */
const MAX_SESSIONS = 10_000;

/** The calls of each session that are under way. Bounded: an agent that never tells an end pushes out its own oldest. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall[]>();

  /** Remembers a call. */
  add(holder: Holder, call: OpenCall): void {
    const session = keyOf(holder);
    const calls = this.#calls.get(session) ?? [];
    calls.push(call);
    if (calls.length > MAX_OPEN) calls.shift();
    this.#calls.delete(session);
    this.#calls.set(session, calls);
    if (this.#calls.size <= MAX_SESSIONS) return;
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }

  /** Takes out the call that ended; `undefined` when no allowed call matches. */
  take(holder: Holder, { event_type, entry, tool }: CallEnd): OpenCall | undefined {
    const session = keyOf(holder);
    const calls = this.#calls.get(session);
    if (!calls) return undefined;
    const index = calls.findIndex((call) =>
      entry === undefined
        ? call.event_type === event_type && (tool === undefined || call.tool === tool)
        : call.entry === entry,
    );
    if (index < 0) return undefined;
    const [found] = calls.splice(index, 1);
    if (calls.length === 0) this.#calls.delete(session);
    return found;
  }

  /** Takes out all calls of a session that ended; what came of them is unknown. */
  takeAll(holder: Holder): readonly OpenCall[] {
    const session = keyOf(holder);
    const calls = this.#calls.get(session) ?? [];
    this.#calls.delete(session);
    return calls;
  }
}

/** Agents choose the names of their sessions, so two users may both have a "main"; no name of a user holds a slash. */
function keyOf(holder: Holder): string {
  return `${holder.user}/${sessionKey(holder)}`;
}
