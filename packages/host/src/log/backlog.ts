import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "@reins/kit";
import { change, type Store, StoreError } from "@reins/store";
import type { LoggedEvent, NewEvent } from "./logged-event.ts";
import type { Subscription } from "./subscription.ts";
import { logTables, type Run } from "./tables.ts";

/** What a backlog needs. */
export interface BacklogOptions {
  readonly store: Pick<Store, "commit">;
  /** Messages that may wait for the store before an append has to wait. */
  readonly most: number;
  /** Whether clients wait for the store, too: what is brought to it does not wait for another commit to go with. */
  readonly isUrgent?: boolean;
  /** Called when the store rejects a batch. */
  readonly onFailed: (error: unknown) => void;
  /** Called when messages wait for room on the disk, and when they do no more. */
  readonly onFull?: ((isFull: boolean, error?: unknown) => void) | undefined;
}

/** Messages that go to the store together. */
interface Gathered {
  readonly runs: Run[];
  /** How many times something was added. */
  times: number;
  count: number;
  size: number;
  /** Called when the store has them. */
  stored: () => void;
}

/** How many characters may wait for the store. */
const MAX_SIZE = 16 << 20;
/** What was gathered in so many goes, or has so many characters, goes without waiting for more. */
const GATHER_TIMES = 24;
const GATHER_SIZE = 64 * 1024;
/** How long what found no room on the disk waits before it is tried again. */
const FULL_MS = 250;

/** The messages of a log that the store does not have yet: how much they are, and how they get there. */
export class Backlog {
  readonly #options: BacklogOptions;
  #gathered = nothing();
  #count = 0;
  #size = 0;
  /** How many messages were ever gathered, and how many of those the store has. */
  #everGathered = 0;
  #everStored = 0;
  /** Settles when the store has what was gathered last; one commit at a time, so that they are stored in their order. */
  #bringing: Promise<void> | undefined;
  #hurried = new AbortController();
  /** Settles when the store has everything that it was given. */
  #stored: Promise<void> = Promise.resolve();
  #room: PromiseWithResolvers<void> | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Counts a message that was appended. A promise says that there is no room for more until it settles. */
  add(): void | Promise<void> {
    this.#count += 1;
    if (this.#hasRoom) return;
    this.#room ??= detached();
    return this.#room.promise;
  }

  /** Batches messages for the store: only its readers wait for them. */
  gather(runs: readonly Run[], count: number, stored: () => void): void {
    const gathered = this.#gathered;
    const size = sizeOf(runs);
    this.#size += size;
    for (const run of runs) gathered.runs.push(run);
    this.#everGathered += count;
    gathered.times += 1;
    gathered.count += count;
    gathered.size += size;
    gathered.stored = stored;
    const isEnough = gathered.times >= GATHER_TIMES || gathered.size >= GATHER_SIZE;
    if (isEnough || !this.#hasRoom) this.bringGathered();
  }

  /** Gives the store what is gathered, once it has what was gathered before. */
  bringGathered(): void {
    if (this.#bringing || this.#gathered.count === 0) return;
    const { runs, count, size, stored } = this.#gathered;
    this.#gathered = nothing();
    this.#bringing = this.#commit(runs, { count, size })
      .then(() => {
        this.#everStored += count;
        this.#bringing = undefined;
        stored();
        // What came meanwhile has waited for long enough.
        this.bringGathered();
      })
      .catch((error: unknown) => {
        this.#bringing = undefined;
        this.#options.onFailed(error);
      });
  }

  /** Settles when the store has what was gathered and brought by now. */
  async inStore(): Promise<void> {
    const wanted = this.#everGathered;
    const stored = this.#stored;
    this.bringGathered();
    while (this.#everStored < wanted && this.#bringing) {
      // Asks for nothing, but so that what was asked for before it goes at once.
      await this.#options.store.commit([], { durable: false });
      await this.#bringing;
    }
    if (!this.isEmpty) await this.#options.store.commit([], { durable: false });
    await stored;
  }

  /** Waits no more for room on the disk. */
  hurry(): void {
    this.#hurried.abort();
  }

  /** Stops writing to the store, and rejects the appends that wait for room. */
  fail(error: unknown): void {
    this.#gathered = nothing();
    this.#room?.reject(error);
  }

  get #hasRoom(): boolean {
    return this.#count <= this.#options.most && this.#size <= MAX_SIZE;
  }

  /** Commits are in the order of the calls. */
  #commit(runs: readonly Run[], { count, size }: { count: number; size: number }): Promise<void> {
    const relaxed = this.#options.isUrgent !== true;
    const committing = this.#kept(() =>
      this.#options.store.commit([change(logTables, "append", { runs })], { durable: false, relaxed }),
    );
    this.#stored = committing.then(() => {
      this.#count -= count;
      this.#size -= size;
      if (!this.#hasRoom) return;
      this.#room?.resolve();
      this.#room = undefined;
    });
    return this.#stored;
  }

  /** Commits, however long there is no room on the disk for it. */
  #kept(commit: () => Promise<unknown>): Promise<unknown> {
    return commit().catch(async (first: unknown) => {
      const { onFull } = this.#options;
      if (!isFull(first) || this.#hurried.signal.aborted) throw first;
      onFull?.(true, first);
      for (;;) {
        await sleep(FULL_MS, undefined, { signal: this.#hurried.signal }).catch(() => undefined);
        try {
          await commit();
          onFull?.(false);
          return;
        } catch (error) {
          if (!isFull(error) || this.#hurried.signal.aborted) throw error;
        }
      }
    });
  }
}

function nothing(): Gathered {
  return { runs: [], times: 0, count: 0, size: 0, stored: () => undefined };
}

const CODES = ["ENOSPC", "EDQUOT"] as const;

/** Whether something failed only because there is no room on the disk, or no database to reach, so that it can be tried again. */
export function isFull(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === "full" || error.code === "unavailable";
  return CODES.some((code) => hasCode(error, code));
}

/** A promise whose rejection need not be handled. */
export function detached(): PromiseWithResolvers<void> {
  const resolvers = Promise.withResolvers<void>();
  resolvers.promise.catch(() => undefined);
  return resolvers;
}

type Commits = Pick<Store, "commit">;

/** Flushes what is buffered in front of a store. */
type Release = () => Promise<void>;

const held = new WeakMap<Commits, Set<Release>>();

/**
 * Registers a buffer in front of a store: {@link settled} flushes it. The returned function unregisters it.
 */
export function registerBuffer(store: Commits, release: Release): () => void {
  const all = held.get(store) ?? new Set();
  held.set(store, all.add(release));
  return () => void all.delete(release);
}

/** Flushes the buffers in front of a store; settles when everything that was written before the call is committed. */
export async function settled(store: Commits): Promise<void> {
  await Promise.all([...(held.get(store) ?? [])].map((release) => release()));
  // A commit of nothing comes after everything else.
  await store.commit([], { durable: false });
}

/** How many characters runs have. */
function sizeOf(runs: readonly Run[]): number {
  let size = 0;
  for (const { texts } of runs) for (const text of texts) size += text.length;
  return size;
}

/** When messages are written, and the last position of each tenant so far. */
interface Placing {
  readonly epochOf: (tenant: string) => number;
  readonly at: number;
  readonly places: Map<string, number>;
}

/** Messages as runs, each at its position; advances the positions of the tenants. */
export function runsOf(batch: readonly NewEvent[], { epochOf, at, places }: Placing): readonly Run[] {
  const runs: (Run & { readonly texts: string[] })[] = [];
  for (const event of batch) {
    const { tenant, session, request, except } = event;
    const text = JSON.stringify(event.message);
    const place = (places.get(tenant) ?? 0) + 1;
    places.set(tenant, place);
    const last = runs.at(-1);
    if (last && goesOn(last, event)) last.texts.push(text);
    else {
      const epoch = epochOf(tenant);
      runs.push({ tenant, session, request, except, epoch, at, first: place, texts: [text] });
    }
  }
  return runs;
}

function goesOn(run: Run, { tenant, session, request, except }: NewEvent): boolean {
  return run.tenant === tenant && run.session === session && run.request === request && run.except === except;
}

/** The followers of each name in a log. */
export class Followers {
  readonly #followers = new Map<string, Set<Subscription>>();

  /** Whether a name has a follower. */
  has(name: string): boolean {
    return this.#followers.has(name);
  }

  /** Delivers a message to the followers of a name. */
  push(name: string, event: LoggedEvent): void {
    const all = this.#followers.get(name);
    if (all) for (const follower of all) follower.push(event);
  }

  join(name: string, follower: Subscription): void {
    const all = this.#followers.get(name) ?? new Set();
    all.add(follower);
    this.#followers.set(name, all);
  }

  leave(name: string, follower: Subscription): void {
    const all = this.#followers.get(name);
    all?.delete(follower);
    if (all?.size === 0) this.#followers.delete(name);
  }

  /** Fails all followers. */
  fail(error: unknown): void {
    for (const follower of new Set([...this.#followers.values()].flatMap((all) => [...all])))
      follower.fail(error);
  }
}
