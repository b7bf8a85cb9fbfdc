import type { Tables } from "@reins/store";

/** Which runs, the newest first. */
export interface DeclaredRunRange {
  readonly tenant: string;
  readonly session?: string | undefined;
  readonly limit: number;
}

/** A run as it is stored: what was declared, and how it stands. Both are JSON. */
export interface StoredDeclaredRun {
  readonly declared: string;
  readonly state: string;
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
    readonly isOver: boolean;
    readonly declared: string | null;
  }): undefined;
  /** Adds a turn to the transcript of a session. */
  turn(args: { readonly tenant: string; readonly session: string; readonly turn: string }): undefined;
};

export type DeclaredRunQueries = {
  get(args: { readonly tenant: string; readonly run: string }): StoredDeclaredRun | undefined;
  /** Those of some runs that have a graph. */
  withGraph(args: { readonly tenant: string; readonly runs: readonly string[] }): string[];
  list(args: DeclaredRunRange): StoredDeclaredRun[];
  /** The runs that are not over, of all tenants. */
  open(args: null): StoredDeclaredRun[];
  /** The turns of a transcript, the oldest first. */
  turns(args: { readonly tenant: string; readonly session: string }): string[];
};

/** The runs of declared graphs, and the transcripts of sessions that declare them. */
export const declaredRunTables: Tables<DeclaredRunChanges, DeclaredRunQueries> = {
  name: "graph_runs",
  module: new URL("./module.ts", import.meta.url),
};
