import type { Approval, ApprovalChange } from "../../src/approvals/approval.ts";
import type { GivenAnswer, WithdrawnPart } from "../../src/approvals/approvals.ts";
import type { Grant } from "../../src/approvals/grants.ts";
import type { ApprovalRequest } from "../../src/approvals/request.ts";
import type { Agreement } from "../../test/approvals/agreement.ts";

/** What the process is started with. */
export interface Start {
  readonly folder: string;
  /** Where compiled code is kept from life to life. */
  readonly cache: string;
  readonly webhook: { readonly url: string; readonly secret: string; readonly details: boolean };
  /** How far its clock is ahead. */
  readonly ahead_ms: number;
  /** At which boundary of the start itself to die; 0 for none. */
  readonly boundary: number;
}

/** What is asked of the process. */
export type Call =
  | { readonly do: "act"; readonly request: ApprovalRequest }
  | { readonly do: "answer"; readonly id: string; readonly answer: GivenAnswer }
  | { readonly do: "withdraw"; readonly part: WithdrawnPart }
  | { readonly do: "revoke"; readonly tenant: string; readonly by: string }
  | { readonly do: "advance"; readonly milliseconds: number }
  | { readonly do: "arm"; readonly boundary: number }
  | { readonly do: "passed" }
  | { readonly do: "check"; readonly tenant: string }
  | { readonly do: "drain" };

/** What came of an action: what the verdict was, and by which approval or grant. */
export interface Acted {
  readonly outcome: "allowed" | "blocked" | "ask";
  readonly approval?: string;
  readonly grant?: string;
}

/** What each call is answered with. */
export interface Answers {
  readonly act: Acted;
  readonly answer: Approval;
  readonly withdraw: Approval[];
  readonly revoke: Grant | null;
  readonly advance: Approval[];
  readonly arm: null;
  readonly passed: number;
  readonly check: Agreement;
  readonly drain: ApprovalChange[];
}

/** The call of a kind. */
export type CallOf<Kind extends Call["do"]> = Extract<Call, { do: Kind }>;

/** A call on its way. */
export interface Asked {
  readonly number: number;
  readonly call: Call;
}

/** What the process says. */
export type Said =
  /** It is ready; the last change before it started. */
  | { readonly ready: number }
  /** A subscriber received a change, so long after it was begun. */
  | { readonly event: ApprovalChange; readonly late_ms: number }
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: { readonly code: string; readonly message: string } };
