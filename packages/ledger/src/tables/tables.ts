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

/** What the ledger changes in the store. */
export type LedgerChanges = {
  append(entry: PreparedEntry): Appended;
  import(args: ImportArgs): number;
  checkpoint(args: { privateKey: KeyObject }): string | undefined;
  describe(meta: Record<string, string>): undefined;
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
  inclusion(args: { seq: number; size: number }): Uint8Array[];
  consistency(args: { earlier: number; size: number }): Uint8Array[];
};

/** The ledger's part of the store. */
export const ledgerTables: Tables<LedgerChanges, LedgerQueries> = {
  name: "ledger",
  module: new URL("./module.ts", import.meta.url),
};
