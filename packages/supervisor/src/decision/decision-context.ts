import type { ControlEvent, DecisionInput, PolicyVerdict, RuleVerdict, Subject } from "@reins/policy";
import type { Change } from "@reins/store";
import type { Approval } from "../approvals/approvals.ts";
import type { Use } from "../limits/usage.ts";
import type { RequestContext } from "./request-context.ts";
import type { TenantState } from "./tenant-state.ts";
import type { ModifiedFrom } from "./verdict-record.ts";

/** What somebody wants to do: who, what, where. */
export interface DecisionRequest {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly requestContext: RequestContext;
}

/** Another harness that did not decide, and why; `fail: open` let that pass. */
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
  /** The other harnesses that failed, and that the constitution lets pass. */
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

  /** What it comes to. Whoever allowed what a rule modified allowed it as modified, and saw no more than that. */
  get outcome(): RuleVerdict {
    const { verdict } = this.verdict;
    return this.modified && verdict === "allowed" ? "modify" : verdict;
  }
}
