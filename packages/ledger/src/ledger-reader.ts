import type { Store } from "@reins/store";
import { entryOf } from "./canonical.ts";
import type { Cid, LedgerEntry } from "./entry.ts";
import { LedgerError } from "./ledger-error.ts";
import type { EntryRange } from "./tables/queries.ts";
import { ledgerTables, type Sessions, type StoredCheckpoint, type StoredEntry } from "./tables/tables.ts";

/** An entry and its place. */
export interface PlacedEntry {
  readonly seq: number;
  readonly entry: LedgerEntry;
}

/** A ledger for those who only read it. */
export class LedgerReader {
  readonly origin: string;
  /** The key that checkpoints are signed with, in the form handed to those who verify. */
  readonly logKey: string;
  readonly #query: Store["query"];

  constructor(store: Pick<Store, "query">, origin: string, logKey: string) {
    this.#query = store.query.bind(store);
    this.origin = origin;
    this.logKey = logKey;
  }

  /** The ledger in a store; it must have been begun. */
  static async of(store: Pick<Store, "query">): Promise<LedgerReader> {
    const origin = await store.query(ledgerTables, "meta", { name: "origin" });
    const logKey = await store.query(ledgerTables, "meta", { name: "log_key" });
    if (origin === undefined || logKey === undefined)
      throw new LedgerError("not_found", "there is no ledger here yet");
    return new LedgerReader(store, origin, logKey);
  }

  /** An entry by its content id. */
  async get(cid: Cid): Promise<PlacedEntry | undefined> {
    const stored = await this.#query(ledgerTables, "get", { cid });
    return stored && { seq: stored.seq, entry: entryOf(stored.cid, stored.body) };
  }

  /** Entries whose content id begins so, sorted by it. */
  async find(prefix: string, limit: number): Promise<PlacedEntry[]> {
    const stored = await this.#query(ledgerTables, "find", { prefix, limit });
    return stored.map(({ seq, cid, body }) => ({ seq, entry: entryOf(cid, body) }));
  }

  /** How many sessions there are, and those that most recently had an entry. */
  sessions(limit: number): Promise<Sessions> {
    return this.#query(ledgerTables, "sessions", { limit });
  }

  /** Entries of a range; the last one's `seq` is where the next page begins. */
  async read(range: EntryRange = {}): Promise<PlacedEntry[]> {
    const stored = await this.readStored(range);
    return stored.map(({ seq, cid, body }) => ({ seq, entry: entryOf(cid, body) }));
  }

  /** Entries of a range as they are kept: canonical text, not yet read. */
  readStored(range: EntryRange): Promise<StoredEntry[]> {
    return this.#query(ledgerTables, "range", range);
  }

  /** How many entries there are. */
  size(): Promise<number> {
    return this.#query(ledgerTables, "size", null);
  }

  /** The newest checkpoint. */
  async checkpoint(): Promise<StoredCheckpoint> {
    const newest = await this.#query(ledgerTables, "checkpoint", {});
    if (!newest) throw new LedgerError("not_found", "this ledger has no checkpoint yet");
    return newest;
  }

  /** Checkpoints after a size, oldest first. */
  checkpoints(after: number, limit: number): Promise<StoredCheckpoint[]> {
    return this.#query(ledgerTables, "checkpoints", { after, limit });
  }

  /** The proof that an entry is in the tree of a size. */
  inclusion(seq: number, size: number): Promise<Uint8Array[]> {
    return this.#query(ledgerTables, "inclusion", { seq, size });
  }

  /** The proof that the tree of a size begins with an earlier one. */
  consistency(earlier: number, size: number): Promise<Uint8Array[]> {
    return this.#query(ledgerTables, "consistency", { earlier, size });
  }
}
