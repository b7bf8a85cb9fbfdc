import type { LedgerQuality, PlacedEntry } from "@reins/api";
import type { Report } from "@reins/verify";
import type { z } from "zod";
import { ApiError, LedgerProofError } from "./errors.ts";
import { type Abortable, allOf, type Http } from "./http.ts";

/** Which entries to read. */
export interface EntryFilter extends Abortable {
  /** The key of a session; `reins:system` for what belongs to none. */
  readonly session?: string | undefined;
  readonly quality?: z.infer<typeof LedgerQuality> | undefined;
  /** Who acted. */
  readonly agent?: string | undefined;
  readonly tag?: string | undefined;
}

/** A checkpoint that was verified: the ledger may only grow from here. */
export interface KeptCheckpoint {
  readonly logKey: string;
  readonly size: number;
  /** The signed note. */
  readonly note: string;
}

/** Where a client keeps the newest checkpoint that it has verified, such as a file or `localStorage`. */
export interface CheckpointStore {
  load(): KeptCheckpoint | undefined | Promise<KeptCheckpoint | undefined>;
  save(checkpoint: KeptCheckpoint): void | Promise<void>;
}

/** A proof that holds: the entry is in the ledger and was signed as it says. */
export interface ProvedEntry {
  /** The proof file, which anyone can verify without the server. */
  readonly file: string;
  readonly report: Report;
}

const load = () => import("./run-operations.ts");

/** The record of what agents did. Proofs are checked here by `@reins/verify`, which is loaded when it is needed. */
export class LedgerClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Reads entries, by default the newest first. */
  entries({
    signal,
    ...query
  }: EntryFilter & {
    readonly since?: string | undefined;
    readonly until?: string | undefined;
    readonly order?: "oldest" | "newest" | undefined;
  } = {}): AsyncGenerator<PlacedEntry> {
    return allOf(async (after: number | undefined) => {
      const { ledgerOperations } = await load();
      const page = await this.#http.call(ledgerOperations.listEntries, {
        query: { ...query, after },
        signal,
      });
      return { items: page.entries, next: page.next };
    });
  }

  /** Subscribes to entries as they are written, or from after a place, until the signal. None is lost or repeated. */
  async *follow({
    signal,
    after,
    ...query
  }: EntryFilter & { readonly after?: number | undefined } = {}): AsyncGenerator<PlacedEntry> {
    const { ledgerOperations } = await load();
    yield* this.#http.follow(ledgerOperations.streamEntries, { query, after: after?.toString(), signal });
  }

  /** Returns one entry by its content id. */
  async get(cid: string, { signal }: Abortable = {}): Promise<PlacedEntry> {
    const { ledgerOperations } = await load();
    return this.#http.call(ledgerOperations.getEntry, { params: { cid }, signal });
  }

  /**
   * Fetches the proof of an entry and verifies it, without trusting the server; with a kept checkpoint, against the key
   * of that. Rejects with {@link LedgerProofError} if it does not hold.
   */
  async prove(
    cid: string,
    { signal, kept }: Abortable & { readonly kept?: KeptCheckpoint | undefined } = {},
  ): Promise<ProvedEntry> {
    const { ledgerOperations } = await load();
    const file = await this.#http.text(ledgerOperations.proveEntry, { params: { cid }, signal });
    return (await import("./ledger-proof.ts")).provedEntry(cid, file, kept);
  }

  /**
   * Fetches the newest checkpoint and verifies its signature and, given one that was kept, that entries were only added
   * since. Returns the one to keep. Rejects with {@link LedgerProofError} if history was changed.
   */
  async checkpoint({
    signal,
    kept,
  }: Abortable & { readonly kept?: KeptCheckpoint | undefined } = {}): Promise<KeptCheckpoint> {
    const { ledgerOperations } = await load();
    const now = await this.#http.call(ledgerOperations.getCheckpoint, { signal });
    const grown = kept && (await this.#consistency(kept, signal));
    return (await import("./ledger-proof.ts")).verifiedCheckpoint(now, kept, grown);
  }

  /** Compares the ledger with the checkpoint of a store, and stores the newest. */
  async compare(store: CheckpointStore, { signal }: Abortable = {}): Promise<KeptCheckpoint> {
    const newest = await this.checkpoint({ kept: await store.load(), signal });
    await store.save(newest);
    return newest;
  }

  async #consistency({ size }: KeptCheckpoint, signal: AbortSignal | undefined) {
    const { ledgerOperations } = await load();
    try {
      return await this.#http.call(ledgerOperations.proveConsistency, { query: { from: size }, signal });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "conflict") throw error;
      throw new LedgerProofError(`The ledger has lost entries: ${error.detail}`, { cause: error });
    }
  }
}
