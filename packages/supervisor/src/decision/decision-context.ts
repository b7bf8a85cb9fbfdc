import type {
  Action,
  ControlEvent,
  DecisionInput,
  Enforcement,
  PolicyVerdict,
  RuleVerdict,
  Subject,
} from "@reins/policy";
import type { Change } from "@reins/store";
import type { Approval } from "../approvals/approvals.ts";
import type { Use } from "../limits/tables.ts";
import type { TenantState } from "./tenant-state.ts";
import type { ModifiedFrom } from "./verdict-record.ts";

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
  /** Called right before the action is allowed; rejects with the reason if the requester lost its rights. */
  readonly confirm?: (() => Promise<void>) | undefined;
  /** Why a person has to decide when no rule matches. */
  readonly ask?: string | undefined;
  /** Why an event exceeds what the session was given; it is blocked then, whatever the policy says. */
  readonly bounds?: ((event: ControlEvent, tool: string) => string | undefined) | undefined;
}

/** Finds out what an event would do. */
export type GatherFacts = (
  event: ControlEvent,
  subject: Subject,
  requestContext: RequestContext,
) => Promise<Action>;

/** Tells the state of what an action runs, has read by a build tool, or sends. */
export type InputState = (action: Action, cwd: string) => Promise<Readonly<Record<string, string>>>;

/** Tells the state of what an action would change, so that an answer counts for exactly that. */
export type TargetState = (action: Action) => Promise<Readonly<Record<string, string>>>;

/** What was decided on an event, after everybody who has a say was heard. */
export interface Decided {
  readonly verdict: RuleVerdict;
  readonly reason: string;
  /** The rule, limit or harness that settled it. */
  readonly rule: string | undefined;
  readonly enforcement: Enforcement;
  /** The content id of the verdict in the ledger. Absent for verdicts that allow nothing: those are returned before they are written. */
  readonly entry: string | undefined;
  /** For verdicts that allow nothing: the content id, once it is written; `undefined` when it cannot be. Never rejects. */
  readonly written?: Promise<string | undefined>;
  /** For `ask`: the approval that waits for a person. */
  readonly approval?: string;
  /** For `defer`. */
  readonly retry_after_ms?: number;
  /** For `modify`: the arguments to act with instead. */
  readonly modified_arguments?: unknown;
}

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

/** One decision on its way: what it is about and what has been settled so far. */
export class DecisionContext {
  /** As the agent sent it. */
  readonly request: DecisionRequest;
  readonly state: TenantState;
  /** As it would be done, which is not how it was sent if a rule modified it. */
  event: ControlEvent;
  input: DecisionInput;
  /** What the policy itself says to the input. */
  said: PolicyVerdict;
  verdict: PolicyVerdict;
  /** The rule, limit or harness that settled it. */
  rule: string | undefined;
  /** Where a rule modified it: what it was, and the arguments to act with instead. */
  modified: { readonly from: ModifiedFrom; readonly arguments: unknown } | undefined;
  /** What was reserved of limits, once it was. */
  uses: readonly Use[] | undefined;
  /** Whether it is a limit that asks, which no grant answers: each time beyond it takes a person's word. */
  isLimited = false;
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
    this.rule = this.said.rule;
  }

  /** Goes on as what a rule made of it. */
  become(
    modified: NonNullable<DecisionContext["modified"]>,
    event: ControlEvent,
    input: DecisionInput,
  ): void {
    this.modified = modified;
    this.event = event;
    this.input = input;
    this.said = this.state.policy.decide(input);
  }

  /** Puts another verdict in the place of the one that stands. */
  settle(verdict: RuleVerdict, reason: string, rule: string | undefined): void {
    const { patch: _, ...rest } = this.verdict;
    this.verdict = { ...rest, verdict, reason };
    this.rule = rule;
  }

  /** The final verdict. Allowing a modified action allows it only as modified. */
  get outcome(): RuleVerdict {
    const { verdict } = this.verdict;
    return this.modified && verdict === "allowed" ? "modify" : verdict;
  }
}
