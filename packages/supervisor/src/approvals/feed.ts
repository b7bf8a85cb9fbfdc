import type { StoreReader } from "@reins/store";
import type { ApprovalChange } from "./approval.ts";
import type { AtRest } from "./at-rest.ts";
import { approvalTables } from "./tables.ts";

/** Told of a change after it was committed; what it throws is the feed's to report. */
export type ApprovalListener = (change: ApprovalChange) => unknown;

const PAGE = 256;

/** Tells listeners of every change, in the order in which they were committed. */
export class Feed {
  readonly #store: Pick<StoreReader, "query">;
  readonly #atRest: AtRest;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<ApprovalListener>();
  #position: number | undefined;
  #starting: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(store: Pick<StoreReader, "query">, atRest: AtRest, onError: (error: unknown) => void) {
    this.#store = store;
    this.#atRest = atRest;
    this.#onError = onError;
  }

  /** Finds out where the feed begins. Nothing may be committed before, or listeners would miss it. */
  start(): Promise<void> {
    if (this.#position !== undefined) return Promise.resolve();
    this.#starting ??= this.#findStart().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Adds a listener; the returned function removes it. */
  subscribe(listener: ApprovalListener): () => void {
    const own: ApprovalListener = (change) => listener(change);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Tells listeners of what was committed. */
  announce(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#read();
    return this.#reading;
  }

  /** Stops notifying; settles when nothing is being read. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    await this.#reading;
  }

  async #findStart(): Promise<void> {
    this.#position = await this.#store.query(approvalTables, "lastChange", null);
  }

  async #read(): Promise<void> {
    try {
      await this.start();
      while (this.#again && !this.#closed) {
        this.#again = false;
        const after = this.#position ?? 0;
        const page = await this.#store.query(approvalTables, "changes", { after, limit: PAGE });
        for (const change of page) this.#tell(this.#atRest.readChange(change));
        if (page.length === PAGE) this.#again = true;
      }
    } catch (error) {
      // The next announcement begins where this one ended.
      this.#onError(error);
    } finally {
      // At once, and not when the promise settles: an announcement in between would wait for nothing.
      this.#reading = undefined;
    }
  }

  #tell(change: ApprovalChange): void {
    this.#position = change.seq;
    for (const listener of [...this.#listeners]) {
      void this.#call(listener, change);
    }
  }

  /** A listener begins at once and is not waited for. */
  async #call(listener: ApprovalListener, change: ApprovalChange): Promise<void> {
    try {
      await listener(change);
    } catch (error) {
      this.#onError(error);
    }
  }
}
