import type { Tables } from "@reins/store";

/** A run as it is stored: what was declared, and how it stands. Both are sealed JSON. */
export interface StoredDeclaredRun {
  readonly tenant: string;
  readonly run: string;
  readonly declared: string;
  readonly state: string;
}

/** A sealed turn of a transcript. */
export interface StoredTurnRow {
  readonly seq: number;
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
}

export type DeclaredRunChanges = {
  /** Adds a run; one that is there stays as it is. Returns whether it is new. */
  create(args: {
    readonly tenant: string;
    readonly run: string;
    readonly session: string;
    readonly declared: string;
    readonly state: string;
  }): boolean;
  /** Replaces how a run stands, and what was declared where a revision changed it. */
  update(args: {
    readonly tenant: string;
    readonly run: string;
    readonly state: string;
    /** RFC 3339; `null` for one that is not over. */
    readonly endedAt: string | null;
    readonly declared: string | null;
  }): undefined;
  /** Adds a turn to the transcript of a session. */
  turn(args: {
    readonly tenant: string;
    readonly session: string;
    readonly turn: string;
    /** RFC 3339. */
    readonly at: string;
  }): undefined;
  /** Replaces what is sealed. */
  renewRun(args: StoredDeclaredRun): undefined;
  renewTurn(args: Pick<StoredTurnRow, "seq" | "turn">): undefined;
  /** Forgets runs. */
  forget(args: { readonly runs: readonly Pick<StoredDeclaredRun, "tenant" | "run">[] }): undefined;
  /** Forgets turns from before an instant; returns how many, up to a limit. */
  forgetTurns(args: { readonly before: string; readonly limit: number }): number;
};

export type DeclaredRunQueries = {
  get(args: { readonly tenant: string; readonly run: string }): StoredDeclaredRun | undefined;
  /** Those of some runs that have a graph. */
  withGraph(args: { readonly tenant: string; readonly runs: readonly string[] }): string[];
  /** The runs that are not over, of all tenants. */
  open(args: null): StoredDeclaredRun[];
  /** The turns of a transcript, the oldest first. */
  turns(args: { readonly tenant: string; readonly session: string }): string[];
  /** Runs that were over before an instant, the oldest first. */
  endedBefore(args: { readonly before: string; readonly limit: number }): StoredDeclaredRun[];
  /** Runs and turns of which something begins with one of some texts of the same length. */
  beginningWith(args: { readonly beginnings: readonly string[]; readonly limit: number }): {
    readonly runs: StoredDeclaredRun[];
    readonly turns: StoredTurnRow[];
  };
};

/** The runs of declared graphs, and the transcripts of sessions that declare them. */
export const declaredRunTables: Tables<DeclaredRunChanges, DeclaredRunQueries> = {
  name: "graph_runs",
  module: new URL("./module.ts", import.meta.url),
};
