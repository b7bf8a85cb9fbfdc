import { membersOf } from "@reins/acp";
import type { Ledger, PlacedEntry } from "@reins/ledger";

const PAGE = 200;

/** The entries of one turn, as they are added: those of its session after the turn before it, up to its own. */
export class LedgerTail {
  readonly #ledger: Pick<Ledger, "read">;
  readonly #chain: string;
  #after = -1;
  #over = false;

  constructor(ledger: Pick<Ledger, "read">, chain: string) {
    this.#ledger = ledger;
    this.#chain = chain;
  }

  /** Begins where the chain ends now. */
  async toEnd(): Promise<void> {
    const [last] = await this.#ledger.read({ entity_id: this.#chain, order: "newest", limit: 1 });
    this.#after = last?.seq ?? -1;
  }

  /**
   * The entries that were added since. The one of the turn itself is the last; those of `earlier` turns, up to their own,
   * are left out.
   */
  async more(earlier: ReadonlySet<unknown>): Promise<readonly PlacedEntry["entry"][]> {
    let entries: PlacedEntry["entry"][] = [];
    while (!this.#over) {
      const page = await this.#ledger.read({ entity_id: this.#chain, after: this.#after, limit: PAGE });
      for (const { seq, entry } of page) {
        this.#after = seq;
        const isTurn = entry.quality === "turn";
        const isEarlier = isTurn && earlier.has(membersOf(entry.payload).turn);
        entries = isEarlier ? [] : [...entries, entry];
        this.#over = isTurn && !isEarlier;
        if (this.#over) break;
      }
      if (page.length < PAGE) break;
    }
    return entries;
  }
}
