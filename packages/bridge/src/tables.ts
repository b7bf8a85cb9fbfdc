import type { Tables } from "@reins/store";
import type { MemoryFact, RecalledFact, RecallQuery } from "./memory.ts";

/** What is changed about facts. */
export type MemoryChanges = {
  /** Keeps a fact; one that says the same is made newer instead. The oldest make room for more than `limit`. */
  remember(args: {
    readonly owner: string;
    readonly fact: MemoryFact;
    readonly words: string;
    readonly limit: number;
  }): MemoryFact;
  /** Whether there was such a fact. */
  forget(args: { readonly owner: string; readonly id: string }): boolean;
};

/** What is asked about them. */
export type MemoryQueries = {
  /** The facts that hold any of the words, best first. */
  recall(
    args: Omit<RecallQuery, "query"> & { readonly owner: string; readonly words: readonly string[] },
  ): RecalledFact[];
  /** The newest first. */
  list(args: { readonly owner: string; readonly limit: number }): MemoryFact[];
};

/** Facts of sessions, by owner, with a full-text index. */
export const memoryTables: Tables<MemoryChanges, MemoryQueries> = {
  name: "memory",
  module: new URL("./memory-module.ts", import.meta.url),
};
