import type { Ledger, PlacedEntry } from "@reins/ledger";

const PAGE = 200;

/** The entries of one turn, as they are added: those of its session after the turn before it, up to its own. */
export class LedgerTail {
  readonly #ledger: Pick<Ledger, "read" | "get">;
  readonly #chain: string;
  #after: number;
  #over = false;

  /** `after` is the place of the last entry before the turn, as far as it is known. */
  constructor(ledger: Pick<Ledger, "read" | "get">, chain: string, after: number) {
    this.#ledger = ledger;
    this.#chain = chain;
    this.#after = after;
  }

  /** The tail of a chain from its end on. */
  static async from(ledger: Pick<Ledger, "read" | "get">, chain: string): Promise<LedgerTail> {
    const [last] = await ledger.read({ entity_id: chain, order: "newest", limit: 1 });
    return new LedgerTail(ledger, chain, last?.seq ?? -1);
  }

  /** Begins after a turn, because that one ended before this one began. */
  async skip(turn: string): Promise<void> {
    const placed = await this.#ledger.get(turn);
    if (placed) this.#after = Math.max(this.#after, placed.seq);
  }

  /** The entries that were added since. The one of the turn itself is the last. */
  async more(): Promise<readonly PlacedEntry["entry"][]> {
    const entries: PlacedEntry["entry"][] = [];
    while (!this.#over) {
      const page = await this.#ledger.read({ entity_id: this.#chain, after: this.#after, limit: PAGE });
      for (const { seq, entry } of page) {
        this.#after = seq;
        entries.push(entry);
        this.#over = entry.quality === "turn";
        if (this.#over) break;
      }
      if (page.length < PAGE) break;
    }
    return entries;
  }
}
