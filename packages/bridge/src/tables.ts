import type { Tables } from "@reins/store";
import type { MemoryFact, RecalledFact, RecallQuery } from "./memory.ts";

export type MemoryChanges = {
  /** Stores a fact; a repeated one becomes newer. The oldest beyond `limit` are dropped. */
  remember(args: {
    readonly owner: string;
    readonly fact: MemoryFact;
    readonly words: string;
    readonly limit: number;
  }): MemoryFact;
  /** Returns whether the fact existed. */
  forget(args: { readonly owner: string; readonly id: string }): boolean;
};

export type MemoryQueries = {
  /** The facts with any of the words, best first. */
  recall(
    args: Omit<RecallQuery, "query"> & { readonly owner: string; readonly words: readonly string[] },
  ): RecalledFact[];
  /** The newest first. */
  list(args: { readonly owner: string; readonly limit: number }): MemoryFact[];
};

/** Facts by owner, with a full-text index. */
export const memoryTables: Tables<MemoryChanges, MemoryQueries> = {
  name: "memory",
  module: new URL("./memory-module.ts", import.meta.url),
};
