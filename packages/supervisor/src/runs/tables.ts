import type { Tables } from "@reins/store";

/** The three contracts of which each run has a current state. */
export type RunContract = "run_lifecycle" | "task_list" | "verification";

/** The current state of one contract of a run. */
export interface RunState {
  readonly tenant: string;
  readonly run_id: string;
  readonly contract: RunContract;
  readonly session_id: string;
  readonly updated_at: string;
  readonly payload: unknown;
  /** Whose run it is: the principal that first told of it, and the user it acts for. Older runs are nobody's. */
  readonly principal: string | null;
  readonly user: string | null;
}

/** Whose runs: those of a principal, and those of a user whoever acts for them. */
export interface RunOwner {
  readonly principal: string;
  readonly user?: string | undefined;
}

/** What runs change in the store. */
export type RunChanges = {
  /** Puts a state in place of the one before. */
  put(state: RunState): undefined;
};

/** Which states, the newest first. */
export interface RunRange {
  readonly tenant: string;
  readonly session_id?: string | undefined;
  /** Everybody's without one. */
  readonly owner?: RunOwner | undefined;
  readonly limit: number;
}

/** What runs read from it. */
export type RunQueries = {
  find(args: { tenant: string; run_id: string }): RunState[];
  list(args: RunRange): RunState[];
};

/** The current state of every run. */
export const runTables: Tables<RunChanges, RunQueries> = {
  name: "runs",
  module: new URL("./module.ts", import.meta.url),
};
