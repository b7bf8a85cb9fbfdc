import type { RunLifecycleEvent, TaskListEvent, VerificationEvent } from "@reins/ahp";
import type { Tables } from "@reins/store";

/** The three contracts of which each run has a current state, and what is reported under each. */
export interface RunReports {
  readonly run_lifecycle: RunLifecycleEvent;
  readonly task_list: TaskListEvent;
  readonly verification: VerificationEvent;
}

export type RunContract = keyof RunReports;

/** The current state of one contract of a run. */
export interface RunState {
  readonly tenant: string;
  readonly run_id: string;
  readonly contract: RunContract;
  readonly session_id: string;
  readonly updated_at: string;
  readonly payload: unknown;
  /** Whose run it is: the principal that first reported it, and the user it acts for. */
  readonly principal: string | null;
  readonly user: string | null;
}

/** Whose runs: those of a principal, and those of a user, whichever principal acts for them. */
export interface RunOwner {
  readonly principal: string;
  readonly user?: string | undefined;
}

/** One transition of a run as it arrived, or one that was refused. */
export interface RunEvent extends Omit<RunState, "updated_at"> {
  /** Its number; later ones are higher. */
  readonly seq: number;
  /** When it arrived. */
  readonly at: string;
  /** Why it was refused, if it was. */
  readonly fault: string | null;
}

/** A state that was reported, when it arrived, and why it was refused, if it was. */
export interface RunNote extends Pick<RunEvent, "at" | "fault"> {
  readonly state: RunState;
}

/** What runs change in the store. */
export type RunChanges = {
  /** Adds events, and replaces the states of those without a fault; of each run only so many of the newest events are kept. */
  note(args: { notes: readonly RunNote[]; most: number }): undefined;
  /** Drops some events that arrived before an instant, and the runs that have none left; returns how many events. */
  prune(args: { before: string; limit: number }): number;
};

/** The states of which runs, the newest first. */
export interface RunRange {
  readonly tenant: string;
  readonly session_id?: string | undefined;
  /** Everybody's without one. */
  readonly owner?: RunOwner | undefined;
  /** Those behind this run. */
  readonly after?: string | undefined;
  /** How many runs. */
  readonly limit: number;
}

/** A part of the runs. */
export type RunStatePage = Partial<Pick<RunRange, "after" | "limit">>;

/** Which events, the oldest first. */
export interface RunEventRange {
  readonly tenant: string;
  readonly run_id?: string | undefined;
  readonly session_id?: string | undefined;
  /** Everybody's without one. */
  readonly owner?: RunOwner | undefined;
  readonly after: number;
  readonly limit: number;
}

/** What runs read from it. */
export type RunQueries = {
  find(args: { tenant: string; run_id: string }): RunState[];
  list(args: RunRange): RunState[];
  /** The lifecycles of runs that have not come to an end, by id. */
  unfinished(args: { tenant: string; after: string; limit: number }): RunState[];
  events(args: RunEventRange): RunEvent[];
  /** The number of the newest event of all; 0 before the first. */
  lastEvent(args: null): number;
};

/** The current state of every run, and every event that led to it. */
export const runTables: Tables<RunChanges, RunQueries> = {
  name: "runs",
  module: new URL("./module.ts", import.meta.url),
};
