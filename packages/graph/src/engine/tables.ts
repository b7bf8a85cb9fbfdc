import type { Tables } from "@reins/store";

/** A run as it is stored: texts of JSON, which may be sealed. */
export interface StoredRun {
  readonly input: string;
  readonly isCanceled: boolean;
  /** How it ended; `null` while it has not. */
  readonly end: string | null;
  /** What its orchestration stored, by name. */
  readonly entries: readonly (readonly [name: string, value: string])[];
}

/** A text of a journal: that of an entry, or without a name that of an end. */
export interface JournalRow {
  readonly run: string;
  readonly name: string | null;
  readonly value: string;
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
  /** Replaces the text of a row that is there. */
  renew(args: JournalRow): undefined;
  /** Forgets runs. */
  forget(args: { runs: readonly string[] }): undefined;
};

export type GraphQueries = {
  load(args: { run: string }): StoredRun | undefined;
  unfinished(args: null): string[];
  /** Rows that begin with one of some texts of the same length. */
  beginningWith(args: { beginnings: readonly string[]; limit: number }): JournalRow[];
};

/** The journals of durable runs. */
export const graphTables: Tables<GraphChanges, GraphQueries> = {
  name: "graph",
  module: new URL("./module.ts", import.meta.url),
};
