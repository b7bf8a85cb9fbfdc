import { type KeyObject, randomUUID } from "node:crypto";
import { type Clock, systemClock } from "@reins/kit";
import { change, type Lease, type Store, StoreError } from "@reins/store";
import { ledgerTables, type Progress } from "./tables/tables.ts";

/** The lease of the node that places entries. */
const LEASE = "ledger sequencer";
/** How long it counts without being renewed, and when it is renewed. */
const [LEASE_MS, RENEW_MS] = [3_000, 1_000];
/** For so long another node may leave entries without a place before this one tries to take over, and then again. */
const [PATIENCE_MS, AGAIN_MS] = [500, 200];
/** Between two looks at the database: while there is something to wait for, and otherwise. */
const [BUSY_MS, IDLE_MS] = [50, 250];
/** How many entries get their places in one transaction. */
const AT_ONCE = 1_000;
/** The longest wait for other nodes; a sequencer that died is replaced sooner. */
const MOST_MS = 15_000;

interface SequencerOptions {
  readonly store: Store;
  /** Signs checkpoints. */
  readonly privateKey: KeyObject;
  readonly clock: Clock;
  /** Called when entries got their places, whichever node gave them. */
  readonly onPlaced: (entries: number) => void;
  readonly onCheckpoint: (note: string) => void;
  readonly onError: (error: unknown) => void;
}

/** A caller that waits for something of the ledger, at the latest until a time. */
interface Waiting {
  /** The looks that had begun when it started to wait. What they find may be older than what it waits for. */
  readonly looks: number;
  readonly isOver: (progress: Progress) => boolean;
  readonly until: number;
  readonly resolve: () => void;
}

/**
 * Gives the entries of several nodes their places in the tree, and makes checkpoints. Every node has one, which looks at
 * the database at short intervals; that of one node, which holds a lease, does the work, and another takes over when
 * entries wait for too long and the lease has expired. What is written under a lease that has passed on is refused by the
 * database, in the same transaction.
 */
export class Sequencer {
  readonly #options: SequencerOptions;
  readonly #owner: string;
  readonly #waiting = new Set<Waiting>();
  #lease: Lease | undefined;
  #renewed = 0;
  #seen: Progress | undefined;
  /** How many looks at the database have begun. */
  #looks = 0;
  /** What is owed, and when it has been the same for too long. */
  #owed: { readonly first: number | null; until: number } | undefined;
  #cancel: (() => void) | undefined;
  /** Whether the next look is due soon. */
  #isDue = false;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: SequencerOptions) {
    this.#options = options;
    this.#owner = `${options.store.node?.id} ${randomUUID()}`;
    this.#schedule(0);
  }

  /** Has it look at the database soon, because this node has added entries. */
  due(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (!this.#running) this.#schedule(BUSY_MS);
  }

  /** Resolves when what was added before has its place, or nothing is to be expected any more. */
  async placed(): Promise<void> {
    const { last } = await this.#progress();
    if (last !== null) await this.#wait(({ first }) => first === null || first > last);
  }

  /** Resolves when a checkpoint covers what was added before, or nothing is to be expected any more. */
  async flush(): Promise<void> {
    try {
      await this.placed();
      const { size } = await this.#progress();
      await this.#wait(({ checkpoint }) => (checkpoint?.size ?? 0) >= size);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Ends it, and lets another node take over at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#running;
    this.#settle(() => true);
    if (this.#lease) await this.#options.store.release(this.#lease).catch(this.#options.onError);
  }

  #progress(): Promise<Progress> {
    return this.#options.store.query(ledgerTables, "progress", null);
  }

  #wait(isOver: (progress: Progress) => boolean): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add({ looks: this.#looks, isOver, until: this.#now + MOST_MS, resolve });
    this.due();
    return promise;
  }

  get #now(): number {
    return this.#options.clock.now().getTime();
  }

  #schedule(ms: number): void {
    this.#cancel?.();
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        this.#schedule(this.#isDue ? BUSY_MS : IDLE_MS);
      });
    });
  }

  async #run(): Promise<void> {
    this.#isDue = false;
    try {
      const progress = await this.#look();
      const isOwed = isOwedIn(progress);
      if (!isOwed) this.#owed = undefined;
      else if (this.#lease || this.#isStalled(progress)) await this.#place();
      this.#isDue ||= isOwed || this.#waiting.size > 0;
    } catch (error) {
      this.#options.onError(error);
      this.#settle(({ until }) => until <= this.#now);
    }
  }

  /** Looks at the database, reports what is new, and settles who waited for it. */
  async #look(): Promise<Progress> {
    this.#looks += 1;
    const look = this.#looks;
    const progress = await this.#progress();
    const before = this.#seen;
    this.#seen = progress;
    if (before && progress.size > before.size) this.#options.onPlaced(progress.size - before.size);
    const { checkpoint } = progress;
    if (checkpoint && checkpoint.size !== before?.checkpoint?.size)
      this.#options.onCheckpoint(checkpoint.note);
    this.#settle(({ looks, isOver, until }) => (looks < look && isOver(progress)) || until <= this.#now);
    return progress;
  }

  #settle(isOver: (one: Waiting) => boolean): void {
    for (const one of this.#waiting) {
      if (!isOver(one)) continue;
      this.#waiting.delete(one);
      one.resolve();
    }
  }

  /** Whether what is owed has been the same for too long. */
  #isStalled({ first }: Progress): boolean {
    if (this.#owed?.first !== first) this.#owed = { first, until: this.#now + PATIENCE_MS };
    return this.#owed.until <= this.#now;
  }

  async #place(): Promise<void> {
    const { store, privateKey } = this.#options;
    if (!this.#lease) {
      this.#lease = await store.claim(LEASE, this.#owner, LEASE_MS);
      this.#renewed = this.#now;
      if (this.#owed) this.#owed.until = this.#now + AGAIN_MS;
    } else if (this.#now - this.#renewed >= RENEW_MS) {
      this.#lease = await store.renew(this.#lease, LEASE_MS);
      this.#renewed = this.#now;
    }
    const lease = this.#lease;
    if (!lease || this.#isStopped) return;
    try {
      await store.commit(
        [
          change(ledgerTables, "place", { limit: AT_ONCE }),
          change(ledgerTables, "checkpoint", { privateKey }),
        ],
        { lease },
      );
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "fenced")) throw error;
      this.#lease = undefined;
    }
    await this.#look();
  }
}

function isOwedIn({ size, first, checkpoint }: Progress): boolean {
  return first !== null || (checkpoint?.size ?? 0) < size;
}

/** How long a node may take to open the ledger before another does, and between two attempts. */
const [OPENING_MS, WAITING_MS] = [20_000, 100];

/** Opens the ledger on one node at a time, so that only one begins it. */
export async function inTurn<Opened>(
  store: Pick<Store, "claim" | "release">,
  open: () => Promise<Opened>,
  clock: Clock = systemClock,
): Promise<Opened> {
  const owner = randomUUID();
  for (;;) {
    const lease = await store.claim("ledger opening", owner, OPENING_MS);
    if (!lease) await new Promise<void>((resolve) => void clock.after(WAITING_MS, resolve));
    else
      try {
        return await open();
      } finally {
        await store.release(lease);
      }
  }
}
