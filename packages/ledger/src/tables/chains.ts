import type { Database, Statement } from "@reins/store";
import type { Cid } from "../entry/entry.ts";
import type { EntryQuality } from "../entry/quality.ts";

/** The ends of one chain: its last entry, and its last turn. */
interface Ends {
  last: Cid | undefined;
  turn: Cid | undefined;
}

const MAX_REMEMBERED = 10_000;

/** Knows what the next entry of each chain follows. The most recent chains are remembered, the others looked up. */
export class Chains {
  readonly #ends = new Map<string, Ends>();
  readonly #findLast: Statement;
  readonly #findTurn: Statement;

  constructor(database: Database) {
    this.#findLast = database.prepare(
      "SELECT cid FROM ledger_entries WHERE entity_id = ? ORDER BY seq DESC LIMIT 1",
    );
    this.#findTurn = database.prepare(
      "SELECT cid FROM ledger_entries WHERE entity_id = ? AND +quality = 'turn' ORDER BY seq DESC LIMIT 1",
    );
  }

  /** A turn follows the turn before it; anything else the entry before it. */
  parentsOf(entity_id: string, quality: EntryQuality): readonly Cid[] {
    const { last, turn } = this.#endsOf(entity_id);
    const parent = quality === "turn" ? turn : last;
    return parent === undefined ? [] : [parent];
  }

  /** Notes that an entry was added. */
  advance(entity_id: string, quality: EntryQuality, cid: Cid): void {
    const ends = this.#endsOf(entity_id);
    ends.last = cid;
    if (quality === "turn") ends.turn = cid;
  }

  /** Looks everything up again. */
  forget(): void {
    this.#ends.clear();
  }

  #endsOf(entity_id: string): Ends {
    const known = this.#ends.get(entity_id);
    const ends = known ?? {
      last: cidIn(this.#findLast.get(entity_id)),
      turn: cidIn(this.#findTurn.get(entity_id)),
    };
    if (known) this.#ends.delete(entity_id);
    this.#ends.set(entity_id, ends);
    const oldest = this.#ends.keys().next();
    if (this.#ends.size > MAX_REMEMBERED && !oldest.done) this.#ends.delete(oldest.value);
    return ends;
  }
}

function cidIn(row: unknown): Cid | undefined {
  return typeof row === "object" && row !== null && "cid" in row ? String(row.cid) : undefined;
}
