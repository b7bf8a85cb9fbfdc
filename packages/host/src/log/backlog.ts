import { change, type Store } from "@reins/store";
import { sizeOf } from "./runs.ts";
import { logTables, type Run } from "./tables.ts";
import { unheeded } from "./unheeded.ts";

/** What a backlog needs. */
export interface BacklogOptions {
  readonly store: Pick<Store, "commit">;
  /** Messages that may wait for the store before whoever appends has to wait. */
  readonly most: number;
  /** Told when the store cannot take what was gathered. */
  readonly onFailed: (error: unknown) => void;
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

/** The messages of a log that the store does not have yet: how much they are, and how they get there. */
export class Backlog {
  readonly #options: BacklogOptions;
  #gathered = nothing();
  #count = 0;
  #size = 0;
  #commits = 0;
  /** Settles when the store has everything that it was given. */
  #stored: Promise<void> = Promise.resolve();
  #room: PromiseWithResolvers<void> | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** How many commits are under way. */
  get commits(): number {
    return this.#commits;
  }

  /** Counts a message that was appended. A promise says that there is no room for more until it settles. */
  add(): void | Promise<void> {
    this.#count += 1;
    if (this.#hasRoom) return;
    this.#room ??= unheeded();
    return this.#room.promise;
  }

  /** Gives messages to the store, and settles when it has them. */
  bring(runs: readonly Run[], count: number): Promise<void> {
    const size = sizeOf(runs);
    this.#size += size;
    return this.#commit(runs, { count, size, relaxed: false });
  }

  /** Gives messages to the store together with more, because nobody waits for them but who reads from there. */
  gather(runs: readonly Run[], count: number, stored: () => void): void {
    const gathered = this.#gathered;
    const size = sizeOf(runs);
    this.#size += size;
    for (const run of runs) gathered.runs.push(run);
    gathered.times += 1;
    gathered.count += count;
    gathered.size += size;
    gathered.stored = stored;
    const isEnough = gathered.times >= GATHER_TIMES || gathered.size >= GATHER_SIZE;
    if (isEnough || !this.#hasRoom) this.bringGathered();
  }

  /** Gives the store what is gathered. */
  bringGathered(): void {
    const { runs, count, size, stored } = this.#gathered;
    if (count === 0) return;
    this.#gathered = nothing();
    this.#commit(runs, { count, size, relaxed: true }).then(stored).catch(this.#options.onFailed);
  }

  /** Settles when the store has what was gathered and brought by now. */
  async inStore(): Promise<void> {
    this.bringGathered();
    const stored = this.#stored;
    // Asks for nothing, but so that what was asked for before it goes at once.
    if (!this.isEmpty) await this.#options.store.commit([], { durable: false });
    await stored;
  }

  /** Nothing more gets to the store; who waits for room is told why. */
  fail(error: unknown): void {
    this.#gathered = nothing();
    this.#room?.reject(error);
  }

  get #hasRoom(): boolean {
    return this.#count <= this.#options.most && this.#size <= MAX_SIZE;
  }

  /** Commits are kept in the order in which they are asked for. */
  #commit(
    runs: readonly Run[],
    { count, size, relaxed }: { count: number; size: number; relaxed: boolean },
  ): Promise<void> {
    this.#commits += 1;
    const how = { durable: false, relaxed };
    const committing = this.#options.store.commit([change(logTables, "append", { runs })], how);
    this.#stored = committing.then(() => {
      this.#commits -= 1;
      this.#count -= count;
      this.#size -= size;
      if (!this.#hasRoom) return;
      this.#room?.resolve();
      this.#room = undefined;
    });
    return this.#stored;
  }
}

function nothing(): Gathered {
  return { runs: [], times: 0, count: 0, size: 0, stored: () => undefined };
}
