import type { Action, ControlEvent, DecisionInput, Enforcement, Subject } from "@reins/policy";
import type { Change } from "@reins/store";
import type { Reservation } from "../limits/limits.ts";
import type { Usage, Use } from "../limits/tables.ts";

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

/** Receives what happens, for counts and traces. Must be quick, and must not throw. */
export interface SupervisorObserver {
  /** Called with each verdict, the milliseconds it took, without the time that people took, and what it is about. */
  readonly decided: (decided: Decided, ms: number, request: DecisionRequest) => void;
  /** Called with each call that ended. */
  readonly settled?: (settled: SettledCall) => void;
  readonly turnStarted?: (turn: StartedTurn) => void;
  /** Called with what a turn used, as far as its agent reported it, and how it ended, where it is one of the host's. */
  readonly turnEnded: (usage: Partial<Usage>, turn?: EndedTurn) => void;
}

/** A call that ended; `call` is absent where no allowed call matches. */
export interface SettledCall {
  readonly subject: Subject;
  readonly call: OpenCall | undefined;
  readonly end: CallEnd;
  readonly usage: Partial<Usage>;
}

/** A turn of the host that begins. */
export interface StartedTurn {
  readonly id: string;
  readonly session: string;
  /** The session whose agent started that session, if one did. */
  readonly parent?: string | undefined;
  readonly agent: string;
  /** The `_meta` of its prompt, as its client sent it. */
  readonly meta: unknown;
}

export interface EndedTurn {
  readonly id: string;
  readonly stop_reason: string;
  /** The tokens that its agent reported, by kind, in snake_case. */
  readonly tokens: Readonly<Record<string, number>>;
}

/** The tokens of a request to a model, by kind. */
export interface RequestTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly thoughtTokens?: number | undefined;
  readonly cachedReadTokens?: number | undefined;
  readonly cachedWriteTokens?: number | undefined;
}

/** An allowed call whose end was not reported yet. */
export interface OpenCall {
  /** The content id of its verdict. */
  readonly entry: string;
  readonly tool: string;
  readonly event_type: string;
  readonly uses: readonly Use[];
  readonly at: number;
  /** Whether it holds a reservation, which only its own end releases. */
  readonly isReserved?: boolean;
}

/** Identifies the call that ended: by the entry of its verdict, else the oldest that matches. */
export interface CallEnd {
  readonly event_type: string;
  readonly entry?: string | undefined;
  readonly tool?: string | undefined;
  /** How it ended, and the tokens of a request to a model: for observers. */
  readonly outcome?: string | undefined;
  readonly tokens?: RequestTokens | undefined;
}
