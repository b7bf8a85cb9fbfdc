import type { Tables } from "@reins/store";
import type {
  Approval,
  ApprovalAnswer,
  ApprovalChange,
  ApprovalState,
  Delivery,
  DeliveryState,
} from "./approval.ts";
import type { Grant } from "./grants.ts";

/** When something changed, and which webhooks are to be notified. */
export interface Notice {
  readonly at: string;
  readonly webhooks: readonly string[];
}

/** How something lies on the disk: as JSON without its secrets, and sealed, exactly. */
export interface KeptForm {
  readonly body: string;
  readonly sealed: string;
}

/** An approval without its secrets, with the number of its changes. */
export interface StoredApproval {
  readonly approval: Approval;
  readonly version: number;
  /** Whether it waits for an answer, so that it has to be shown exactly. */
  readonly waits: boolean;
  /** Its exact form; dropped when it is answered or over. */
  readonly sealed?: string;
}

/** A step as it was committed, with the approval as it is kept by now. */
export interface StoredChange extends Omit<ApprovalChange, "approval"> {
  readonly stored: StoredApproval;
}

/** A grant without its secrets. */
export interface StoredGrant {
  readonly grant: Grant;
  /** Its exact form; dropped when it is revoked. */
  readonly sealed?: string;
}

/** The part of a new approval by which it is found. */
type NewApproval = Pick<Approval, "id" | "tenant" | "session" | "turn" | "binding" | "state" | "expires_at">;

/** The part of a new grant by which it is found, and how it is kept. */
export type NewGrant = Pick<Grant, "id" | "tenant" | "user" | "agent" | "binding" | "expires_at"> & {
  readonly form: KeptForm;
};

/** Something that is sealed, and where. */
export interface SealedRow {
  readonly kind: "approval" | "grant";
  readonly id: string;
  readonly binding: string;
  readonly sealed: string;
}

/** How much is sealed with a key. */
export interface SealedCount {
  readonly key: string;
  readonly count: number;
}

/** A step to another state, or an answer that leaves the state as it is. */
export interface Move {
  readonly id: string;
  /** What the step was decided on; it is refused after a concurrent change. */
  readonly version: number;
  readonly state: ApprovalState;
  readonly answers: readonly ApprovalAnswer[];
  readonly notice: Notice;
  /** The grant that comes with it: kept unless it is there, and then still in force. */
  readonly grant?: NewGrant;
}

/** Which approvals, from where, and how many. */
export interface ApprovalRange {
  readonly tenant: string;
  readonly state?: ApprovalState | undefined;
  readonly user?: string | undefined;
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
  /** The id of the last one of the page before. */
  readonly after?: string | undefined;
  readonly order?: "oldest" | "newest" | undefined;
  readonly limit?: number | undefined;
}

/** Which grants, from where, and how many. */
export interface GrantRange {
  readonly tenant: string;
  readonly user?: string | undefined;
  readonly agent?: string | undefined;
  /** The id of the last one of the page before. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** Which changes, from where, and how many. */
export interface ChangeRange {
  readonly after: number;
  readonly limit: number;
  readonly tenant?: string | undefined;
}

/** Which deliveries, from where, and how many. */
export interface DeliveryRange {
  readonly tenant?: string | undefined;
  readonly webhook?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

/** What approvals change in the store. Each belongs into a commit with the ledger entry that records it. */
export type ApprovalChanges = {
  /** Puts a question; gives the content id of its entry. */
  ask(args: { approval: NewApproval; form: KeptForm; max_open: number; notice: Notice }): string;
  move(args: Move): undefined;
  /** Uses a yes, once. */
  use(args: { id: string; notice: Notice }): undefined;
  /** Notes which turn waits for an approval now. */
  wait(args: { id: string; turn: string }): undefined;
  useGrant(args: { id: string; at: string }): undefined;
  revokeGrant(args: { id: string; at: string; by: string }): undefined;
  /** A delivery that arrived is forgotten. */
  delivered(args: { id: number }): undefined;
  /** A delivery that did not arrive is tried again later, or never. */
  failed(args: { id: number; attempts: number; error: string; due_at: string | undefined }): undefined;
  /** Gives up the oldest deliveries to a webhook beyond a number; gives how many. */
  trimDeliveries(args: { webhook: string; most: number }): number;
  /** Gives up what waits for webhooks that are no longer configured, or no longer for that tenant. */
  abandon(args: {
    webhooks: readonly { readonly name: string; readonly tenant?: string | undefined }[];
  }): undefined;
  /** Forgets some of what ended before an instant; gives how many. Their entries stay in the ledger. */
  prune(args: { before: string; limit: number }): number;
  /** Puts what is sealed with the newest key in the place of the same, sealed with another. */
  renewSeal(args: SealedRow): undefined;
};

/** What approvals read from it. */
export type ApprovalQueries = {
  get(args: { id: string; tenant: string }): StoredApproval | undefined;
  /** The newest that asked for the same. */
  newest(args: { binding: string; tenant: string }): StoredApproval | undefined;
  list(range: ApprovalRange): StoredApproval[];
  /** The open ones of a session, or of one of its turns. */
  open(args: { tenant: string; session: string; turn: string | undefined }): StoredApproval[];
  /** Open ones whose time is over. */
  over(args: { now: string; limit: number }): StoredApproval[];
  /** When the time of the next open one is over. */
  nextOver(args: null): string | undefined;
  changes(range: ChangeRange): StoredChange[];
  lastChange(args: null): number;
  grant(args: { id: string; tenant: string }): StoredGrant | undefined;
  grantFor(args: { binding: string }): StoredGrant | undefined;
  grants(range: GrantRange): StoredGrant[];
  nextDelivery(args: { webhook: string; latest: string }): Delivery | undefined;
  deliveries(range: DeliveryRange): Delivery[];
  /** What was sealed with some keys, by id. */
  sealedWithKeys(args: { keys: readonly string[]; after: string; limit: number }): SealedRow[];
  /** The names of the keys that what waits, or is in force, was sealed with, and how much with each. */
  sealedWith(args: null): SealedCount[];
};

/** The part of the store that approvals bring. */
export const approvalTables: Tables<ApprovalChanges, ApprovalQueries> = {
  name: "approvals",
  module: new URL("./tables/module.ts", import.meta.url),
};
