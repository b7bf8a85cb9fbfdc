import type { Tables } from "@reins/store";

/** The events by which an agent reports how it does. */
export const REPORT_KINDS = ["heartbeat", "success", "error"] as const;
export type ReportKind = (typeof REPORT_KINDS)[number];

/** Which agent reports, in which session. Two users may call theirs the same. */
export interface Reporter {
  readonly tenant: string;
  readonly user: string;
  readonly agent: string;
  readonly session: string;
}

/** The newest report of a kind, and how many of the kind there were. */
export interface Report extends Reporter {
  readonly kind: ReportKind;
  /** When it arrived. */
  readonly at: string;
  readonly count: number;
  /** JSON, or the beginning of it where it is long. */
  readonly payload: string;
}

/** What reports change in the store. */
export type ReportChanges = {
  /** Replaces the report of the same kind, counts it, and drops the oldest beyond so many of the tenant. */
  put(args: { report: Omit<Report, "count">; most: number }): undefined;
  /** Drops those that arrived before an instant. */
  prune(args: { before: string }): undefined;
};

/** What is read of them. */
export type ReportQueries = {
  /** The newest reports of all tenants, newest first. */
  list(args: { limit: number }): Report[];
};

/** The last report of each kind per agent and session. */
export const reportTables: Tables<ReportChanges, ReportQueries> = {
  name: "agent_reports",
  module: new URL("./module.ts", import.meta.url),
};
