import type { ApprovalChange } from "../approval.ts";

/** Where a delivery stands: to be tried, or given up. One that arrived is forgotten. */
export const DELIVERY_STATES = ["waiting", "dead"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A change on its way to a webhook. */
export interface Delivery {
  /** Stays the same when it is tried again, so a receiver can tell. */
  readonly id: number;
  readonly webhook: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** When it is tried next. */
  readonly due_at: string;
  /** Why the last attempt failed. */
  readonly error?: string;
  /** The approval in it is without its secrets: what is sent leaves the machine, and stays where it arrives. */
  readonly change: ApprovalChange;
}
