import type { Tables } from "@reins/store";

/** A run as it is stored. */
export interface StoredRun {
  readonly input: unknown;
  readonly isCanceled: boolean;
  /** How it ended; `null` while it has not. */
  readonly end: unknown;
  /** What its orchestration stored, by name. */
  readonly entries: readonly (readonly [name: string, value: unknown])[];
}

export type GraphChanges = {
  /** Adds a run; one that is there stays as it is. */
  create(args: { run: string; input: string }): undefined;
  /** Adds an entry; the first under a name stays. */
  append(args: { run: string; name: string; value: string }): undefined;
  cancel(args: { run: string }): undefined;
  end(args: { run: string; end: string }): undefined;
  /** Makes a run unfinished again. */
  reopen(args: { run: string }): undefined;
};

export type GraphQueries = {
  load(args: { run: string }): StoredRun | undefined;
  unfinished(args: null): string[];
};

/** The journals of durable runs. */
export const graphTables: Tables<GraphChanges, GraphQueries> = {
  name: "graph",
  module: new URL("./module.ts", import.meta.url),
};
