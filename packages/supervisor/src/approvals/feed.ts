import type { StoreReader } from "@reins/store";
import type { Clock } from "../clock.ts";
import type { ApprovalChange } from "./approval.ts";
import { approvalTables } from "./tables.ts";

/** Told of a change after it was committed; what it throws is the feed's to report. */
export type ApprovalListener = (change: ApprovalChange) => unknown;

const PAGE = 256;
/** How often a change that somebody else commits is looked for, and for how long. */
const LOOK_MS = 10;
const PATIENCE_MS = 5_000;

/** Tells listeners of every change, in the order in which they were committed. */
export class Feed {
  readonly #store: Pick<StoreReader, "query">;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<ApprovalListener>();
  /** Approvals that are about to change, and until when that is waited for. */
  readonly #expected = new Map<string, number>();
  #position: number | undefined;
  #starting: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  #again = false;
  #stopLooking: (() => void) | undefined;
  #closed = false;

  constructor(store: Pick<StoreReader, "query">, clock: Clock, onError: (error: unknown) => void) {
    this.#store = store;
    this.#clock = clock;
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

  /** Somebody else is about to commit a change of this approval; it is looked for. */
  expect(id: string): void {
    this.#expected.set(id, this.#clock.now().getTime() + PATIENCE_MS);
    this.#look();
  }

  /** Tells nobody any more; settles when nothing is being read. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    this.#stopLooking?.();
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
        for (const change of page) this.#tell(change);
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
    if (change.approval.state === "used") this.#expected.delete(change.approval.id);
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

  #look(): void {
    if (this.#stopLooking || this.#closed) return;
    this.#stopLooking = this.#clock.after(LOOK_MS, () => {
      void this.announce().then(() => {
        this.#stopLooking = undefined;
        const now = this.#clock.now().getTime();
        for (const [id, until] of this.#expected) if (until <= now) this.#expected.delete(id);
        if (this.#expected.size > 0) this.#look();
      });
    });
  }
}
