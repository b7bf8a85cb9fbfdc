import type { KeyObject } from "node:crypto";
import type { Tables } from "@reins/store";
import type { Cid, LedgerEntry, PreparedEntry } from "../entry.ts";
import type { Appended } from "./append.ts";
import type { EntryRange } from "./queries.ts";

/** An entry as it is kept: its place, its name and the canonical text of the rest. */
export interface StoredEntry {
  readonly seq: number;
  readonly cid: Cid;
  readonly body: string;
}

/** A checkpoint as it is kept. */
export interface StoredCheckpoint {
  readonly size: number;
  readonly note: string;
}

/** How far the ledger of several nodes has come. */
export interface Progress {
  /** How many entries have their places. */
  readonly size: number;
  /** The numbers of the first and the last of those that wait for theirs. */
  readonly first: number | null;
  readonly last: number | null;
  /** Whether it was several nodes that wrote last. */
  readonly isShared: boolean;
  readonly checkpoint: StoredCheckpoint | undefined;
}

/** The sessions that entries belong to, the system's own chain not counted. */
export interface Sessions {
  readonly count: number;
  /** Those with the newest entries, the newest first. */
  readonly recent: readonly {
    readonly entity_id: string;
    readonly seq: number;
    readonly timestamp: string;
  }[];
}

/** Entries and checkpoints of another copy. */
export interface ImportArgs {
  readonly entries: readonly { readonly seq: number; readonly entry: LedgerEntry }[];
  readonly checkpoints: readonly StoredCheckpoint[];
}

/** A key, and the entry that announces it. */
export interface Announcement {
  readonly key_id: string;
  readonly entry: PreparedEntry;
}

/** What the ledger changes in the store. */
export type LedgerChanges = {
  append(entry: PreparedEntry): Appended;
  /** Writes the entry that announces a key; `undefined` if another node has done so. */
  announce(args: Announcement): Appended | undefined;
  import(args: ImportArgs): number;
  checkpoint(args: { privateKey: KeyObject }): string | undefined;
  describe(meta: Record<string, string>): undefined;
  /** Gives up to so many entries their places; returns how many. */
  place(args: { limit: number }): number;
  /** Makes the ledger of several nodes that of one: places what waits for that. */
  settle(args: null): undefined;
};

/** What the ledger reads from the store. */
export type LedgerQueries = {
  get(args: { cid: Cid }): StoredEntry | undefined;
  find(args: { prefix: string; limit: number }): StoredEntry[];
  sessions(args: { limit: number }): Sessions;
  range(range: EntryRange): StoredEntry[];
  size(args: null): number;
  meta(args: { name: string }): string | undefined;
  checkpoint(args: { size?: number | undefined }): StoredCheckpoint | undefined;
  checkpoints(args: { after: number; limit: number }): StoredCheckpoint[];
  progress(args: null): Progress;
  inclusion(args: { seq: number; size: number }): Uint8Array[];
  consistency(args: { earlier: number; size: number }): Uint8Array[];
};

/** The ledger's part of the store. */
export const ledgerTables: Tables<LedgerChanges, LedgerQueries> = {
  name: "ledger",
  module: new URL("./module.ts", import.meta.url),
};
