import { amountOf, errorMessage, excessOf } from "@reins/kit";
import {
  type Action,
  type AskTerms,
  type ControlEvent,
  type DecisionInput,
  type Enforcement,
  type FilePort,
  type PolicyVerdict,
  permitsAction,
  type RuleVerdict,
  type Subject,
} from "@reins/policy";
import type { Change } from "@reins/store";
import type { Approval } from "../approvals/approvals.ts";
import type { Reservation } from "../limits/limits.ts";
import type { Usage, Use } from "../limits/tables.ts";
import type { TenantState } from "../limits/tenant-states.ts";
import { sessionKey } from "../record/record.ts";
import type { CallEnd, OpenCall } from "./observer.ts";

/** Where an agent works, as far as the harness knows. Keep one object per session: what follows from it is found out once. */
export interface Workspace {
  /** Where relative paths and commands start, absolute. */
  readonly cwd: string;
  /** The folders the session works in, absolute; without any, nothing lies in the workspace. */
  readonly roots: readonly string[];
  /** Where these really lay when the session was let into them; without it, the first decision finds out. */
  readonly realRoots?: readonly string[] | undefined;
  /** The agent's home, absolute; by default the user's. */
  readonly home?: string | undefined;
  /** The variables that the agent's commands are known to see. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Whose tool table applies; by default that of the agent's own name. */
  readonly tools?: string | undefined;
}

/** Where and when an action takes place. */
export interface RequestContext {
  readonly workspace: Workspace;
  /** The file system as far as the requester has looked at it already; by default that of the machine. */
  readonly files?: FilePort | undefined;
  /** The turn it belongs to, if it is known. */
  readonly turn?: string | undefined;
  /** The user who prompted that turn, where it is not the one for whom the agent acts. */
  readonly askedBy?: string | undefined;
  /** Called right before the action is allowed; rejects with the reason if the requester lost its rights. */
  readonly confirm?: (() => Promise<void>) | undefined;
  /** Why a person has to decide when no rule matches. */
  readonly ask?: string | undefined;
  /** Why a person has to decide about an action even where a rule allows it. No grant answers that. */
  readonly mustAsk?: ((action: Action) => string | undefined) | undefined;
  /** What is committed together with a verdict that allows the action. */
  readonly commits?: ((decided: Unrecorded) => readonly Change<unknown>[]) | undefined;
  /** Why an event exceeds what the session was given; it is blocked then, whatever the policy says. */
  readonly bounds?: ((event: ControlEvent, action: Action) => string | undefined) | undefined;
  /**
   * Why the requester could not act on an allowing verdict, given the arguments that would replace its own, if any do; it
   * is blocked then, on the record, before people are asked.
   */
  readonly inexpressible?:
    | ((modified: { readonly arguments: unknown } | undefined) => string | undefined)
    | undefined;
  /** Why no person is asked; what a rule would ask about is blocked then. */
  readonly unasked?: string | undefined;
  /** Whether rules alone decide: what the policy neither allows nor blocks is blocked then, without a record. */
  readonly unattended?: boolean | undefined;
  /**
   * Whether an allowing verdict is returned before it is written: nothing may follow from it before it is `written` and a
   * later verdict is on the disk.
   */
  readonly deferred?: boolean | undefined;
  /** Kept of budgets until the action is settled with what it used. */
  readonly reserves?: Reservation | undefined;
}

/** Finds out what an event would do. */
export type GatherFacts = (
  event: ControlEvent,
  subject: Subject,
  requestContext: RequestContext,
) => Promise<Action>;

/** Finds the state of what an action runs, has read by a build tool, or sends. */
export type InputState = (action: Action, cwd: string) => Promise<Readonly<Record<string, string>>>;

/** Finds the state of what an action would change, so that an answer counts for exactly that. */
export type TargetState = (action: Action) => Promise<Readonly<Record<string, string>>>;

/** What every verdict on an event says. */
interface DecidedBase {
  readonly reason: string;
  /** The rule, limit or harness that settled it. */
  readonly rule: string | undefined;
  readonly enforcement: Enforcement;
  /** The content id of the verdict in the ledger. Absent for a verdict that is returned before it is written: one that allows nothing, or is deferred. */
  readonly entry: string | undefined;
  /** For such a verdict: the content id, once it is written; `undefined` when it cannot be. Never rejects. */
  readonly written?: Promise<string | undefined>;
  /** The approval that settled it, or that it waits for. */
  readonly approval?: string;
}

/** The verdict on an event after all stages of the decision. */
export type Decided = DecidedBase &
  (
    | { readonly verdict: "allowed" | "blocked" }
    /** `approval` waits for a person. */
    | { readonly verdict: "ask"; readonly approval: string }
    | { readonly verdict: "defer"; readonly retry_after_ms: number }
    /** `modified_arguments` replace the arguments of the action. */
    | { readonly verdict: "modify"; readonly modified_arguments: unknown }
  );

/** A verdict before it is recorded. */
export type Unrecorded = Decided & { readonly entry: undefined };

/** An event to decide: what, by whom, where. */
export interface DecisionRequest {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly requestContext: RequestContext;
}

/** An external harness that failed to decide and was skipped because of `fail: open`. */
export interface FailedOpen {
  readonly harness: string;
  readonly fail: "open";
  readonly error: string;
}

/** What an action was before it was modified, and the rule or the external harness that modified it. */
export type Modification = { readonly input: DecisionInput } & (
  | { readonly by: "harness"; readonly harness: string }
  | {
      readonly by: "rule";
      readonly rule: string | undefined;
      readonly patch: Readonly<Record<string, unknown>>;
    }
);

/** The verdict so far, with what each variant needs. */
export type CurrentVerdict = { readonly reason: string; readonly rule: string | undefined } & (
  | { readonly verdict: "allowed" | "blocked" | "ask" }
  | { readonly verdict: "defer"; readonly retry_after_ms: number }
  | { readonly verdict: "modify"; readonly patch: Readonly<Record<string, unknown>> }
);

const NO_TERMS: AskTerms = {};
const NO_USES: readonly Use[] = [];

/** One decision under way; the stages change it. */
export class PendingDecision {
  /** As the agent sent it. */
  readonly request: DecisionRequest;
  readonly state: TenantState;
  /** As it would be done, which is not how it was sent if it was modified. */
  event: ControlEvent;
  input: DecisionInput;
  /** What the policy itself says to the input. */
  said: PolicyVerdict;
  verdict: CurrentVerdict;
  /** Whose agreement an `ask` takes: what the rule says, also where a limit asks after it. */
  terms: AskTerms = NO_TERMS;
  /** Where it was modified: what it was, and the arguments to act with instead. */
  modified: { readonly from: Modification; readonly arguments: unknown } | undefined;
  /** What was reserved of limits, once it was. */
  uses: readonly Use[] | undefined;
  /** Whether a limit asks, which no grant answers: each time beyond it takes a person's word. */
  isLimited = false;
  /** Whether a person allowed it when it was reserved. */
  isApproved = false;
  /** The approval that settled it, or that it waits for. */
  approval: Approval | undefined;
  /** What is to be committed with the verdict. */
  changes: readonly Change<unknown>[] = [];
  /** The external harnesses that failed and were skipped. */
  readonly failedOpen: FailedOpen[] = [];

  constructor(request: DecisionRequest, state: TenantState, input: DecisionInput) {
    this.request = request;
    this.state = state;
    this.event = request.event;
    this.input = input;
    this.said = state.policy.decide(input);
    this.verdict = this.said;
    this.adopt(this.said);
  }

  /** Replaces the verdict by one of the policy. */
  adopt(verdict: PolicyVerdict): void {
    this.verdict = verdict;
    this.terms = verdict.verdict === "ask" ? verdict : NO_TERMS;
  }

  block(reason: string, rule: string | undefined): void {
    this.verdict = { verdict: "blocked", reason, rule };
  }

  /** Blocks what exceeds the bounds that the session was given. */
  checkBounds(): void {
    const { event, requestContext } = this.request;
    const excess = requestContext.bounds?.(event, this.input.action);
    if (excess !== undefined) this.block(excess, undefined);
  }

  /** Asks people where no rule matches, if the session wants that. */
  askUnmatched(): void {
    const { ask } = this.request.requestContext;
    const { verdict, rule } = this.verdict;
    if (ask !== undefined && rule === undefined && verdict === "allowed")
      this.verdict = { verdict: "ask", reason: ask, rule };
  }

  /** Blocks what the requester could not act on if it were allowed. */
  checkExpressible(): void {
    const { verdict, reason, rule } = this.verdict;
    if (verdict !== "allowed" && verdict !== "modify" && verdict !== "ask") return;
    const why = this.request.requestContext.inexpressible?.(this.modified);
    if (why !== undefined) this.block(`${reason}; ${why}`, rule);
  }

  /** Reserves one call of every limit that applies, once. */
  reserve(by: { readonly approved?: boolean } = {}): void {
    if (!permitsAction(this.outcome) || this.uses) return;
    this.isApproved = by.approved ?? false;
    if (this.state.policy.limits.length === 0) {
      this.uses = NO_USES;
      return;
    }
    const { reserves } = this.request.requestContext;
    const outcome = this.state.limits.reserve(this.input, { ...by, reserves });
    if (outcome.passed) this.uses = outcome.uses;
    else this.verdict = outcome.verdict;
    this.isLimited = !outcome.passed;
  }

  /** Blocks when the requester lost its rights while the other stages ran. */
  async confirm(): Promise<void> {
    try {
      await this.request.requestContext.confirm?.();
    } catch (error) {
      this.block(errorMessage(error), undefined);
    }
  }

  /** Continues with other arguments, and what the policy says to those. */
  async become(
    from: Modification,
    changed: unknown,
    { gatherFacts, now }: { readonly gatherFacts: GatherFacts; readonly now: () => number },
  ): Promise<void> {
    const { subject, requestContext } = this.request;
    const event = { ...this.request.event, payload: withArguments(this.request.event, changed) };
    const action = await gatherFacts(event, subject, requestContext);
    this.modified = { from, arguments: changed };
    this.event = event;
    this.input = inputFor({ event, subject }, action, this.state, now());
    this.said = this.state.policy.decide(this.input);
  }

  /** The verdict as it is returned, before it is recorded. */
  decided(): Unrecorded {
    const { request, verdict, approval, modified } = this;
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

  /** The final verdict. Allowing a modified action allows it only as modified. */
  get outcome(): RuleVerdict {
    const { verdict } = this.verdict;
    return this.modified && verdict === "allowed" ? "modify" : verdict;
  }
}

/** What an action is decided by. */
export function inputFor(
  { event, subject }: Pick<DecisionRequest, "event" | "subject">,
  action: Action,
  { history }: Pick<TenantState, "history">,
  at: number,
): DecisionInput {
  return { event_type: event.event_type, action, subject, counters: history.counters(subject, at), at };
}

/** The payload with other arguments; a prompt is in the payload itself. */
function withArguments({ event_type, payload }: ControlEvent, args: unknown): unknown {
  const inPlace = event_type === "pre_prompt" ? payloadMembers(args) : {};
  return { ...payloadMembers(payload), ...inPlace, arguments: args };
}

export function payloadMembers(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Why a payload cannot be decided on; `undefined` when it can. */
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

/** The amounts of a usage that are some: what is no amount counts as not reported, never as a credit. */
export function amountsIn(reported: Partial<Usage>): Partial<Usage> {
  const amounts = Object.entries(reported).map(([name, value]) => [name, amountOf(value)]);
  return Object.fromEntries(amounts.filter(([, value]) => value !== undefined));
}

/** The owner of calls: one user's agent in one session. */
type Holder = Pick<Subject, "user" | "tenant" | "agent" | "session" | "session_key">;

/** The most open calls of one session. */
const MAX_OPEN = 1_000;
/** The most sessions with open calls. */
const MAX_SESSIONS = 10_000;

/** The calls of each session that are under way. Bounded: an agent that never reports an end loses its own oldest. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall[]>();

  /** Adds a call. */
  add(holder: Holder, call: OpenCall): void {
    const session = keyOf(holder);
    const calls = this.#calls.get(session) ?? [];
    calls.push(call);
    // A prompt stays: what its turn used is still to be charged.
    if (calls.length > MAX_OPEN) {
      const oldest = calls.findIndex((one) => one.event_type !== "pre_prompt");
      calls.splice(Math.max(0, oldest), 1);
    }
    this.#calls.delete(session);
    this.#calls.set(session, calls);
    if (this.#calls.size <= MAX_SESSIONS) return;
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }

  /** Removes the call that ended; `undefined` when no allowed call matches. */
  take(holder: Holder, { event_type, entry, tool }: CallEnd): OpenCall | undefined {
    const session = keyOf(holder);
    const calls = this.#calls.get(session);
    if (!calls) return undefined;
    const index = calls.findIndex(
      (call) =>
        call.event_type === event_type &&
        (entry === undefined
          ? !call.isReserved && (tool === undefined || call.tool === tool)
          : call.entry === entry),
    );
    if (index < 0) return undefined;
    const [found] = calls.splice(index, 1);
    if (calls.length === 0) this.#calls.delete(session);
    return found;
  }

  /** The call whose verdict has an entry. */
  find(holder: Holder, entry: string): OpenCall | undefined {
    return this.#calls.get(keyOf(holder))?.find((call) => call.entry === entry);
  }

  /** Removes all calls of a session that ended, but for reserved ones; their outcome is unknown. */
  takeAll(holder: Holder): readonly OpenCall[] {
    const session = keyOf(holder);
    const { kept = [], ended = [] } = Object.groupBy(this.#calls.get(session) ?? [], ({ isReserved }) =>
      isReserved ? "kept" : "ended",
    );
    if (kept.length > 0) this.#calls.set(session, kept);
    else this.#calls.delete(session);
    return ended;
  }
}

/** Agents choose the names of their sessions, so two users may both have a "main"; no name of a user holds a slash. */
function keyOf(holder: Holder): string {
  return `${holder.user}/${sessionKey(holder)}`;
}
