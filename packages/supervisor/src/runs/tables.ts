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
}

/** What runs change in the store. */
export type RunChanges = {
  /** Puts a state in place of the one before. */
  put(state: RunState): undefined;
};

/** What runs read from it. */
export type RunQueries = {
  find(args: { tenant: string; run_id: string }): RunState[];
  list(args: { tenant: string; session_id?: string | undefined; limit: number }): RunState[];
};

/** The current state of every run. */
export const runTables: Tables<RunChanges, RunQueries> = {
  name: "runs",
  module: new URL("./module.ts", import.meta.url),
};
