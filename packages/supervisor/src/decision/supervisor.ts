import { randomUUID } from "node:crypto";
import { type Clock, errorMessage, systemClock } from "@reins/kit";
import type { Ledger } from "@reins/ledger";
import {
  type ControlEvent,
  type DecisionInput,
  type Policy,
  type PolicyVerdict,
  permitsAction,
  type Subject,
} from "@reins/policy";
import type { Store } from "@reins/store";
import type { Approvals } from "../approvals/approvals.ts";
import type { Limits } from "../limits/limits.ts";
import type { Usage } from "../limits/tables.ts";
import { type TenantState, TenantStates } from "../limits/tenant-states.ts";
import type { Buffered } from "../record/buffered-records.ts";
import { type Commitment, type VerdictRecord, VerdictWriter } from "../record/record.ts";
import type { Redactor } from "../redaction/redactor.ts";
import {
  amountsIn,
  type Decided,
  type DecisionRequest,
  type GatherFacts,
  type InputState,
  inputFor,
  OpenCalls,
  PendingDecision,
  payloadFault,
  type RequestContext,
  type TargetState,
  type Unrecorded,
} from "./decision.ts";
import { askHarnesses, type Harnesses } from "./harnesses.ts";
import type { CallEnd, EndedTurn, OpenCall, StartedTurn, SupervisorObserver } from "./observer.ts";
import { askPeople, modify } from "./waiting-stages.ts";

/** What a supervisor decides with. */
export interface SupervisorOptions {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  /** The policies in force, by tenant; a tenant without one is blocked from everything. */
  readonly policies: Pick<ReadonlyMap<string, Policy>, "get">;
  /** Loads the policy of a tenant that has just come to be. */
  readonly loadPolicy?: (tenant: string) => Promise<Policy | undefined>;
  readonly gatherFacts: GatherFacts;
  readonly targetState?: TargetState;
  readonly inputState?: InputState;
  readonly harnesses?: Harnesses;
  /** Commits to what an agent sent, which itself is not recorded. */
  readonly commitment?: Pick<Commitment, "to">;
  /** Removes secrets from what is recorded; by default those of known formats. */
  readonly redactor?: Redactor;
  /** Called when a verdict could not be written. */
  readonly onRecordError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

/**
 * Decides on control events: facts, then policy, then limits, then external harnesses, then people, each only stricter
 * than the one before. A verdict that allows something is on the disk before it is returned; any failure on the way
 * blocks, with the reason.
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

  /** Notifies an observer of every decision from now on; returns `unsubscribe`. */
  observe(observer: SupervisorObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** Decides an event. Never rejects. */
  async decide(event: ControlEvent, subject: Subject, requestContext: RequestContext): Promise<Decided> {
    const begun = performance.now();
    const request = { event, subject, requestContext };
    const decided = await decide(request, this.#ports);
    const ms = performance.now() - begun;
    for (const observer of this.#observers) observer.decided(decided, ms, request);
    return decided;
  }

  /** Blocks an event that its sender may not send, and records that. */
  async refuse(
    event: ControlEvent,
    subject: Subject,
    requestContext: RequestContext,
    reason: string,
  ): Promise<Decided> {
    const request = { event, subject, requestContext };
    const decided = await refuseEvent(request, reason, this.#ports);
    for (const observer of this.#observers) observer.decided(decided, 0, request);
    return decided;
  }

  /** What an event would be decided by, under the policy in force. Decides and records nothing. */
  async preview(
    event: ControlEvent,
    subject: Subject,
    requestContext: RequestContext,
  ): Promise<DecisionInput | undefined> {
    const policy = this.#options.policies.get(subject.tenant);
    if (!policy) return undefined;
    return this.#states.under(subject.tenant, policy, async (state) => {
      const action = await this.#options.gatherFacts(event, subject, requestContext);
      return inputFor({ event, subject }, action, state, this.#clock.now().getTime());
    });
  }

  /** What a subject has used of each limit that its policy sets. */
  async budget(subject: Subject): Promise<ReturnType<Limits["report"]>> {
    const policy = this.#options.policies.get(subject.tenant);
    if (!policy) return [];
    const at = this.#clock.now().getTime();
    return this.#states.under(subject.tenant, policy, async ({ limits }) => limits.report(subject, at));
  }

  /** Whether a tool is worth offering: not every use of it by a subject would be blocked. Decides and records nothing. */
  mayUse(tool: string, subject: Subject): boolean {
    return (this.outlook(tool, subject)?.verdict ?? "blocked") !== "blocked";
  }

  /**
   * The policy's verdict on a tool before its arguments are known: that on the most harmless use, or on an opaque one
   * where that is blocked. `undefined` when there is no policy. Decides and records nothing.
   */
  outlook(tool: string, subject: Subject): PolicyVerdict | undefined {
    const policy = this.#options.policies.get(subject.tenant);
    if (!policy) return undefined;
    const at = this.#clock.now().getTime();
    const base = { tool, effects: [], doubts: [], claims: {}, arguments: {} };
    const counters = this.#states.held.get(subject.tenant)?.state.history.counters(subject, at) ?? {};
    const verdictOn = (opaque: boolean) =>
      policy.decide({ event_type: "pre_action", action: { ...base, opaque }, subject, counters, at });
    const harmless = verdictOn(false);
    return harmless.verdict === "blocked" ? verdictOn(true) : harmless;
  }

  /** The policy's verdict on an event as of now; `undefined` when there is no policy. Decides and records nothing. */
  async foresee(
    event: ControlEvent,
    subject: Subject,
    requestContext: RequestContext,
  ): Promise<PolicyVerdict | undefined> {
    const policy = this.#options.policies.get(subject.tenant);
    if (!policy || payloadFault(event.payload) !== undefined) return undefined;
    const action = await this.#options.gatherFacts(event, subject, requestContext);
    const at = this.#clock.now().getTime();
    const counters = this.#states.held.get(subject.tenant)?.state.history.counters(subject, at) ?? {};
    return policy.decide({ event_type: event.event_type, action, subject, counters, at });
  }

  /**
   * Settles an allowed call with what it used. Returns `undefined` when no allowed call matches the end; what is reported
   * as used then counts all the same, as a use of its own.
   */
  async settle(subject: Subject, end: CallEnd, reported: Partial<Usage> = {}): Promise<OpenCall | undefined> {
    const usage = amountsIn(reported);
    const call = this.#open.take(subject, end);
    for (const { settled } of this.#observers) settled?.({ subject, call, end, usage });
    const policy = this.#options.policies.get(subject.tenant);
    if (!call && policy) await this.#states.charge(policy, subject, end, usage);
    if (!call || call.uses.length === 0) return call;
    // The agent may report more time than was measured here, not less.
    const time_ms = Math.max(usage.time_ms ?? 0, this.#clock.now().getTime() - call.at);
    await this.#states.settle(subject.tenant, call.uses, { ...usage, time_ms });
    return call;
  }

  /** Reports a turn that begins to observers. */
  turnStarted(turn: StartedTurn): void {
    for (const { turnStarted } of this.#observers) turnStarted?.(turn);
  }

  /** How much of its budgets is left for a call under way that reserved some; nothing for one that is over. */
  roomFor(subject: Subject, entry: string): Pick<Usage, "tokens" | "cost"> {
    const call = this.#open.find(subject, entry);
    const { limits } = this.#states.held.get(subject.tenant)?.state ?? {};
    return call && limits ? limits.roomFor(call.uses, this.#clock.now().getTime()) : { tokens: 0, cost: 0 };
  }

  /** Reports a turn that ended to observers, with all that it used. */
  turnEnded(usage: Partial<Usage>, turn?: EndedTurn): void {
    for (const { turnEnded } of this.#observers) turnEnded(usage, turn);
  }

  /** Writes what is still buffered. */
  close(): Promise<void> {
    return this.#writer.flush();
  }

  /** Removes the open calls of a session that ended; their outcome is unknown. */
  abandon(subject: Subject): readonly OpenCall[] {
    const calls = this.#open.takeAll(subject);
    for (const { settled } of this.#observers)
      for (const call of calls) settled?.({ subject, call, end: { ...call, outcome: "unknown" }, usage: {} });
    return calls;
  }
}

/** What the stages work with. */
export interface PipelinePorts extends SupervisorOptions {
  readonly states: TenantStates;
  readonly writer: VerdictWriter;
  /** Holds allowed calls until their end is reported. */
  readonly open: OpenCalls;
  readonly now: () => number;
}

/**
 * A stage after the policy, which can only make the verdict stricter. One that waits says when it applies, so that
 * a decision awaits nothing else between policy and commit.
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
  { name: "ask where no rule matches", run: (decision) => decision.askUnmatched() },
  { name: "modify", applies: ({ verdict }) => verdict.verdict === "modify", wait: modify },
  { name: "ask where the requester insists", run: askInsisted },
  { name: "limits", run: (decision) => decision.reserve() },
  {
    name: "external harnesses",
    applies: ({ state }) => state.policy.file.harnesses.length > 0,
    wait: askHarnesses,
  },
  {
    name: "bounds of the session on what it has become",
    run: (decision) => {
      if (!decision.modified) return;
      decision.checkBounds();
      askInsisted(decision);
    },
  },
  { name: "what the requester can act on", run: (decision) => decision.checkExpressible() },
  { name: "approval", applies: ({ verdict }) => verdict.verdict === "ask", wait: askPeople },
  {
    name: "rights of the requester",
    applies: ({ request, outcome }) => request.requestContext.confirm !== undefined && permitsAction(outcome),
    wait: (decision) => decision.confirm(),
  },
];

/** How often a decision restarts because the policy was replaced, or limits were used up, meanwhile. */
const MAX_SWAPS = 5;

/** Decides an event: payload, policy in force, facts, policy, {@link STAGES}, commit. Any failure on the way blocks. */
export async function decide(request: DecisionRequest, ports: PipelinePorts): Promise<Decided> {
  try {
    const fault = payloadFault(request.event.payload);
    if (fault !== undefined) return await refuseEvent(request, fault, ports);
    for (let swaps = 0; swaps <= MAX_SWAPS; swaps += 1) {
      const { tenant } = request.subject;
      const policy = ports.policies.get(tenant) ?? (await ports.loadPolicy?.(tenant));
      if (!policy) return await refuseEvent(request, "no policy is loaded", ports);
      // As `TenantStates.under` does, without a wait where the policy is the one that counts are kept for.
      let held = ports.states.held.get(tenant);
      if (held?.state.policy === policy) held.open += 1;
      else held = await ports.states.enter(tenant, policy);
      try {
        const decided = await decideUnder(held.state, request, ports);
        if (decided) return decided;
      } finally {
        held.open -= 1;
        if (held.open === 0) held.idle?.();
      }
    }
    return await refuseEvent(
      request,
      "what it depends on changed again and again while it was being decided",
      ports,
    );
  } catch (error) {
    return refuseEvent(request, `it could not be decided: ${errorMessage(error)}`, ports);
  }
}

/** Returns `undefined` when an allowing verdict comes from a policy, or from counts, that are no longer in force. */
async function decideUnder(
  state: TenantState,
  request: DecisionRequest,
  ports: PipelinePorts,
): Promise<Decided | undefined> {
  const { event, subject, requestContext } = request;
  const action = await ports.gatherFacts(event, subject, requestContext);
  const decision = new PendingDecision(request, state, inputFor(request, action, state, ports.now()));
  const { verdict, reason, rule } = decision.said;
  if (requestContext.unattended && verdict !== "allowed" && verdict !== "blocked")
    return { verdict: "blocked", reason, rule, enforcement: subject.enforcement, entry: undefined };
  try {
    for (const stage of STAGES)
      if ("run" in stage) stage.run(decision);
      else if (stage.applies(decision)) await stage.wait(decision, ports);
    if (permitsAction(decision.outcome) && ports.policies.get(subject.tenant) !== state.policy) {
      state.limits.release(decision.uses ?? []);
      return undefined;
    }
    return await commit(decision, ports);
  } catch (error) {
    state.limits.release(decision.uses ?? []);
    throw error;
  }
}

/** Asks people about what a rule allows, if the requester insists; each time takes a person's word, also where a rule asks. */
function askInsisted(decision: PendingDecision): void {
  const { verdict, rule } = decision.verdict;
  if (verdict !== "ask" && !permitsAction(decision.outcome)) return;
  const reason = decision.request.requestContext.mustAsk?.(decision.input.action);
  if (reason === undefined) return;
  if (verdict !== "ask") decision.verdict = { verdict: "ask", reason, rule };
  decision.isLimited = true;
}

/** Writes the verdict: one that allows something before it is returned, any other a little later. */
async function commit(decision: PendingDecision, ports: PipelinePorts): Promise<Decided | undefined> {
  const { request, input, state, modified, said, failedOpen, uses = [] } = decision;
  const { hashes, argumentPaths } = state.policy;
  const decided = decision.decided();
  const modifiedFrom = modified?.from;
  const record = { input, decided, hashes, policy: said, modifiedFrom, argumentPaths, failedOpen };
  if (permitsAction(decided.verdict)) {
    // Where other nodes count against the same limits, only the store knows whether they are used up.
    const deferred = request.requestContext.deferred === true && !(uses.length > 0 && ports.store.node);
    const writing = writeAllowed(decision, record, ports, deferred);
    return deferred ? { ...decided, written: writing.then((written) => written?.entry) } : writing;
  }
  state.limits.release(uses);
  return returned(decided, ports.writer.later(request, record));
}

/** A verdict that allows nothing is returned before it is written, unless too many wait to be. */
async function returned(decided: Unrecorded, { room, written }: Buffered): Promise<Decided> {
  if (room) await room;
  return { ...decided, written };
}

async function writeAllowed(
  { request, input, state, uses = [], changes, isApproved }: PendingDecision,
  record: VerdictRecord,
  ports: PipelinePorts,
  deferred: boolean,
): Promise<Decided | undefined> {
  const { writer, approvals, open } = ports;
  state.history.note(input);
  try {
    const kept =
      uses.length > 0 ? state.limits.changesFor(input, uses, ports.store.node && { isApproved }) : [];
    const own = request.requestContext.commits?.(record.decided) ?? [];
    const { entries } = await writer.now(request, record, [...changes, ...kept, ...own], { deferred });
    const entry = entries[0]?.cid;
    if (changes.length > 0) approvals.announce();
    const { event_type, at, action } = input;
    const isReserved = request.requestContext.reserves?.tokens !== undefined;
    if (entry !== undefined)
      open.add(request.subject, { entry, tool: action.tool, event_type, uses, at, isReserved });
    return { ...record.decided, entry };
  } catch (error) {
    state.history.takeBack(input);
    state.limits.release(uses);
    if (await state.limits.reread(error, uses, input.at, ports.store)) return undefined;
    writer.report(error);
    return refuseEvent(request, `the verdict could not be written: ${errorMessage(error)}`, ports);
  }
}

/** Blocks what could not be decided or written, and records that. */
function refuseEvent(
  request: DecisionRequest,
  reason: string,
  { writer }: Pick<PipelinePorts, "writer">,
): Promise<Decided> {
  const { enforcement } = request.subject;
  const decided: Unrecorded = { verdict: "blocked", reason, rule: undefined, enforcement, entry: undefined };
  return returned(decided, writer.refused(request, decided));
}
