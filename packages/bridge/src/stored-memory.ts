import { randomUUID } from "node:crypto";
import { change, type Store } from "@reins/store";
import {
  completeFact,
  type FactMarks,
  MAX_FACTS,
  type Memory,
  type MemoryFact,
  type NewFact,
  type RecalledFact,
  type RecallQuery,
} from "./memory.ts";
import { queryTokens, tokensOf } from "./search/tokens.ts";
import { memoryTables } from "./tables.ts";

/** Options of a stored memory. The store needs {@link memoryTables}. */
export interface StoredMemoryOptions extends Partial<FactMarks> {
  readonly store: Pick<Store, "commit" | "query">;
  /** The principal whose sessions share these facts. */
  readonly owner: string;
  readonly maxFacts?: number;
  /** Removes secrets from a fact before it is stored. */
  readonly redact?: (content: string) => string;
}

/** A memory in the database, with full-text search. */
export class StoredMemory implements Memory {
  readonly #store: Pick<Store, "commit" | "query">;
  readonly #owner: string;
  readonly #limit: number;
  readonly #marks: FactMarks;
  readonly #redact: (content: string) => string;

  constructor({
    store,
    owner,
    maxFacts = MAX_FACTS,
    newId = randomUUID,
    now = () => new Date(),
    redact = (content) => content,
  }: StoredMemoryOptions) {
    this.#store = store;
    this.#owner = owner;
    this.#limit = maxFacts;
    this.#marks = { newId, now };
    this.#redact = redact;
  }

  async remember(given: NewFact): Promise<MemoryFact> {
    const fact = completeFact({ ...given, content: this.#redact(given.content) }, this.#marks);
    const words = tokensOf(fact.content).join(" ");
    const remember = change(memoryTables, "remember", {
      owner: this.#owner,
      fact,
      words,
      limit: this.#limit,
    });
    const [kept] = await this.#store.commit([remember]);
    return kept;
  }

  recall({ query, limit, workspace }: RecallQuery): Promise<RecalledFact[]> {
    const words = queryTokens(query);
    return this.#store.query(memoryTables, "recall", {
      owner: this.#owner,
      words,
      limit,
      ...(workspace !== undefined && { workspace }),
    });
  }

  list(limit: number): Promise<MemoryFact[]> {
    return this.#store.query(memoryTables, "list", { owner: this.#owner, limit });
  }

  async forget(id: string): Promise<boolean> {
    const [forgotten] = await this.#store.commit([
      change(memoryTables, "forget", { owner: this.#owner, id }),
    ]);
    return forgotten;
  }
}
