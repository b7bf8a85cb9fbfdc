import { randomUUID } from "node:crypto";
import { change, type Store } from "@reins/store";
import { BridgeError } from "./bridge-error.ts";
import { Bm25Index, queryTokens, tokensOf } from "./search/bm25.ts";
import { memoryTables } from "./tables.ts";

/** A fact for later sessions. */
export interface MemoryFact {
  readonly id: string;
  readonly content: string;
  /** Its origin, such as a session. */
  readonly source: string;
  /** From 0 to 1. */
  readonly confidence: number;
  /** The folder it is true in; empty for everywhere. */
  readonly workspace: string;
  /** When it was last stated, RFC 3339. */
  readonly created_at: string;
}

/** A fact to store. */
export interface NewFact {
  readonly content: string;
  readonly source: string;
  readonly confidence?: number;
  readonly workspace?: string;
}

/** A matching fact with its score. */
export interface RecalledFact extends MemoryFact {
  readonly score: number;
}

/** A query for facts. */
export interface RecallQuery {
  readonly query: string;
  readonly limit: number;
  /** The caller's folder; facts of other folders are left out. */
  readonly workspace?: string;
}

/** The shared memory of one owner's sessions. A repeated fact is stored once and becomes newer. */
export interface Memory {
  remember(fact: NewFact): Promise<MemoryFact>;
  /** The best matches, best first. */
  recall(query: RecallQuery): Promise<RecalledFact[]>;
  /** The newest facts. */
  list(limit: number): Promise<MemoryFact[]>;
  /** Returns whether the fact existed. */
  forget(id: string): Promise<boolean>;
}

export const MAX_FACT_LENGTH = 4_096;
/** The most facts of one owner; the oldest are dropped. */
const MAX_FACTS = 10_000;

/** Generates ids and times. */
export interface FactMarks {
  readonly newId: () => string;
  readonly now: () => Date;
}

/** Validates a fact and completes it. */
export function completeFact(
  { content, source, confidence = 1, workspace = "" }: NewFact,
  { newId, now }: FactMarks,
): MemoryFact {
  const text = content.trim();
  if (text === "" || text.length > MAX_FACT_LENGTH)
    throw new BridgeError(
      "invalid",
      `a fact has 1 to ${MAX_FACT_LENGTH} characters; keep longer things in a file`,
    );
  if (!(confidence >= 0 && confidence <= 1))
    throw new BridgeError("invalid", "the confidence of a fact is from 0 to 1");
  return { id: newId(), content: text, source, confidence, workspace, created_at: now().toISOString() };
}

/** Replaces an equal fact: keeps its id and the higher confidence. */
export function mergeFacts(known: MemoryFact, fresh: MemoryFact): MemoryFact {
  return { ...fresh, id: known.id, confidence: Math.max(known.confidence, fresh.confidence) };
}

/** Whether a fact is true in a folder. */
function holdsIn(workspace: string | undefined, fact: Pick<MemoryFact, "workspace">): boolean {
  if (fact.workspace === "" || workspace === undefined) return true;
  return workspace === fact.workspace || workspace.startsWith(`${fact.workspace}/`);
}

/** A memory without a store. */
export class VolatileMemory implements Memory {
  readonly #facts = new Map<string, MemoryFact>();
  readonly #index = new Bm25Index({ content: 1 });
  readonly #marks: FactMarks;

  constructor(marks: Partial<FactMarks> = {}) {
    this.#marks = { newId: randomUUID, now: () => new Date(), ...marks };
  }

  async remember(fact: NewFact): Promise<MemoryFact> {
    const fresh = completeFact(fact, this.#marks);
    const known = [...this.#facts.values()].find(
      ({ content, workspace }) => content === fresh.content && workspace === fresh.workspace,
    );
    const kept = known ? mergeFacts(known, fresh) : fresh;
    // Deleted first, so that the map stays ordered from the oldest to the newest.
    this.#facts.delete(kept.id);
    this.#facts.set(kept.id, kept);
    this.#index.put(kept.id, kept);
    if (this.#facts.size > MAX_FACTS) await this.forget(this.#facts.keys().next().value ?? "");
    return kept;
  }

  async recall({ query, limit, workspace }: RecallQuery): Promise<RecalledFact[]> {
    return this.#index
      .search(query, { limit: this.#index.size })
      .flatMap(({ id, score }) => {
        const fact = this.#facts.get(id);
        return fact && holdsIn(workspace, fact) ? [{ ...fact, score: score * fact.confidence }] : [];
      })
      .toSorted((left, right) => right.score - left.score)
      .slice(0, limit);
  }

  async list(limit: number): Promise<MemoryFact[]> {
    return [...this.#facts.values()].toReversed().slice(0, limit);
  }

  async forget(id: string): Promise<boolean> {
    this.#index.remove(id);
    return this.#facts.delete(id);
  }
}

/** Options of a stored memory. The store needs {@link memoryTables}. */
export interface StoredMemoryOptions extends Partial<FactMarks> {
  readonly store: Pick<Store, "commit" | "query" | "node">;
  /** The principal whose sessions share these facts. */
  readonly owner: string;
  readonly maxFacts?: number;
  /** Removes secrets from a fact before it is stored. */
  readonly redact?: (content: string) => string;
}

/**
 * Whether owners have facts, by the store that is asked: most have none, and are asked in every turn. Owners of a store
 * that several processes write are not in it.
 */
const owning = new WeakMap<object, Map<string, Promise<boolean>>>();

/** A memory in the database, with full-text search. */
export class StoredMemory implements Memory {
  readonly #store: Pick<Store, "commit" | "query" | "node">;
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
    this.#owners.set(this.#owner, Promise.resolve(true));
    const [kept] = await this.#store.commit([remember]);
    return kept;
  }

  async recall({ query, limit, workspace }: RecallQuery): Promise<RecalledFact[]> {
    if (!(await this.#hasFacts())) return [];
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

  get #owners(): Map<string, Promise<boolean>> {
    const owners = owning.get(this.#store) ?? new Map<string, Promise<boolean>>();
    owning.set(this.#store, owners);
    return owners;
  }

  #hasFacts(): true | Promise<boolean> {
    if (this.#store.node) return true;
    const known = this.#owners.get(this.#owner);
    if (known) return known;
    const found = this.list(1).then((facts) => facts.length > 0);
    this.#owners.set(this.#owner, found);
    // Asked again after a failure.
    found.catch(() => this.#owners.delete(this.#owner));
    return found;
  }

  async forget(id: string): Promise<boolean> {
    const [forgotten] = await this.#store.commit([
      change(memoryTables, "forget", { owner: this.#owner, id }),
    ]);
    return forgotten;
  }
}
