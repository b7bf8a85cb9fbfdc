import { randomUUID } from "node:crypto";
import { Bm25Index } from "../search/bm25.ts";
import { type FactMarks, holdsIn, keptFact, MAX_FACTS } from "./fact.ts";
import type { Memory, MemoryFact, NewFact, RecalledFact, RecallQuery } from "./memory.ts";

/** A memory that lasts as long as its process. */
export class VolatileMemory implements Memory {
  readonly #facts = new Map<string, MemoryFact>();
  readonly #index = new Bm25Index();
  readonly #marks: FactMarks;

  constructor(marks: Partial<FactMarks> = {}) {
    this.#marks = { newId: randomUUID, now: () => new Date(), ...marks };
  }

  async remember(fact: NewFact): Promise<MemoryFact> {
    const fresh = keptFact(fact, this.#marks);
    const known = [...this.#facts.values()].find(
      ({ content, workspace }) => content === fresh.content && workspace === fresh.workspace,
    );
    const kept = known
      ? { ...fresh, id: known.id, confidence: Math.max(known.confidence, fresh.confidence) }
      : fresh;
    // Taken out first, so that the order of the map is from the oldest to the newest.
    this.#facts.delete(kept.id);
    this.#facts.set(kept.id, kept);
    this.#index.put(kept.id, kept.content);
    if (this.#facts.size > MAX_FACTS) await this.forget(this.#facts.keys().next().value ?? "");
    return kept;
  }

  async recall({ query, limit, workspace }: RecallQuery): Promise<RecalledFact[]> {
    return this.#index
      .search(query, this.#index.size)
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
