import { StoreError } from "../store-error.ts";
import { Load, type LoadLimit, weightOf } from "./commit-load.ts";
import type { Write } from "./messages.ts";
import { failed, type Outcome, unwrap } from "./outcome.ts";

/** Does at most one piece of work in each turn of the event loop, in order; the first at once. */
export class Pace {
  readonly #left: (() => void)[] = [];
  #resting = false;

  add(work: () => void): void {
    if (this.#resting) this.#left.push(work);
    else this.#do(work);
  }

  #do(work: () => void): void {
    this.#resting = true;
    setImmediate(() => {
      this.#resting = false;
      const next = this.#left.shift();
      if (next) this.#do(next);
    });
    work();
  }
}

/** Hands commits to the writer and gives their outcomes, in order. */
type Send = (writes: readonly Write[]) => Promise<readonly Outcome[]>;

/** Who waits for a commit. It is kept apart from what was asked for, which is let go of once it is handed over. */
interface Caller {
  readonly resolve: (results: unknown[]) => void;
  readonly reject: (error: unknown) => void;
  readonly bytes: number;
  /** Whether nobody waits for the commit. */
  readonly relaxed: boolean;
}

/** Handed over in one message; copying so much to another thread takes a fraction of a millisecond. */
export const CHUNK: LoadLimit = { commits: 64, bytes: 262_144 };
/** Handed over and not settled; enough for a batch to gather while another is written. */
const WINDOW: LoadLimit = { commits: 2_048, bytes: 16_777_216 };

/** How long what nobody waits for may wait for others to go with. */
const RELAXED_MS = 20;

/**
 * Commits on their way to the writer and back. They are handed over and settled a chunk at a time, the event loop
 * turning in between, so that thousands of them never hold it up.
 */
export class CommitQueue {
  readonly #send: Send;
  readonly #limit: LoadLimit;
  readonly #chunk: LoadLimit;
  readonly #unsettled: Load;
  readonly #underWay = new Load(WINDOW);
  readonly #settling = new Pace();
  /** What waits to be handed over, and whose it is. */
  #writes: Write[] = [];
  #callers: Caller[] = [];
  /** Whether chunks are on their way, one in each turn of the event loop. */
  #sending = false;
  /** Hands over at the end of this turn what nobody waits for on the disk. */
  #soon: NodeJS.Immediate | undefined;
  /** Hands over a little later what nobody waits for. It is wound up again and again rather than made anew. */
  #later: NodeJS.Timeout | undefined;
  /** Whether everything that waits goes, also what nobody waits for. */
  #isDue = false;
  /** Whether what waits was kept back because too much is under way. */
  #isFull = false;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(send: Send, limit: LoadLimit, chunk = CHUNK) {
    this.#send = send;
    this.#limit = limit;
    this.#chunk = chunk;
    this.#unsettled = new Load(limit);
  }

  /** Queues a commit; settles when its batch is written. */
  add(write: Write, { relaxed = false } = {}): Promise<unknown[]> {
    const bytes = weightOf(write.changes, this.#limit.bytes);
    if (!this.#unsettled.fits(bytes)) {
      const text = `${this.#unsettled.commits} commits wait to be written already; try again later`;
      return Promise.reject(new StoreError("overloaded", text));
    }
    this.#unsettled.add(bytes);
    return new Promise((resolve, reject) => {
      this.#writes.push(write);
      this.#callers.push({ resolve, reject, bytes, relaxed });
      if (write.durable) this.#sendNow();
      else if (relaxed) this.#sendLater();
      else this.#sendSoon();
    });
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    if (this.#unsettled.commits === 0) return;
    this.#idle ??= Promise.withResolvers();
    this.#sendNow();
    await this.#idle.promise;
  }

  /**
   * What somebody waits for on the disk goes as soon as no promise is left to settle, together with everything that was
   * asked for before it.
   */
  #sendNow(): void {
    if (this.#sending) return;
    this.#sending = true;
    process.nextTick(() => this.#sendChunk());
  }

  /** What somebody waits for, but not on the disk, goes at the end of this turn of the event loop. */
  #sendSoon(): void {
    if (this.#sending) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#sendAll();
    });
  }

  /** Anything else goes with the next that somebody waits for, or a little later. */
  #sendLater(): void {
    if (!this.#sending && this.#writes.length === 1) this.#windUp();
  }

  #windUp(): void {
    if (this.#later) this.#later.refresh();
    else this.#later = setTimeout(() => this.#sendAll(), RELAXED_MS);
  }

  #sendAll(): void {
    if (this.#writes.length === 0) return;
    this.#isDue = true;
    if (!this.#sending) this.#sendChunk();
  }

  #sendChunk(): void {
    const count = this.#takeChunk();
    this.#sending = count > 0;
    this.#isFull = !this.#sending && this.#writes.length > 0;
    if (!this.#sending) return;
    this.#hand(this.#writes.splice(0, count), this.#callers.splice(0, count));
    this.#isDue &&= this.#writes.length > 0;
    setImmediate(() => this.#goOn());
  }

  #goOn(): void {
    if (this.#isPressing) {
      this.#sendChunk();
      return;
    }
    this.#sending = false;
    if (this.#writes.length > 0) this.#windUp();
  }

  /** Whether something waits that somebody waits for, or everything is waited for. */
  get #isPressing(): boolean {
    if (this.#callers.length === 0) return false;
    return this.#isDue || this.#idle !== undefined || this.#callers.some(({ relaxed }) => !relaxed);
  }

  /** How many commits make up the next chunk; from then on they count as under way. */
  #takeChunk(): number {
    const size = new Load(this.#chunk);
    for (const { bytes } of this.#callers) {
      if (!size.fits(bytes) || !this.#underWay.fits(bytes)) break;
      size.add(bytes);
      this.#underWay.add(bytes);
    }
    return size.commits;
  }

  #hand(writes: readonly Write[], callers: readonly Caller[]): void {
    const settle = (outcomes: readonly Outcome[]) =>
      this.#settling.add(() => this.#settle(callers, outcomes));
    const refuse = (error: unknown) => settle(callers.map(() => failed(error)));
    try {
      this.#send(writes).then(settle, refuse);
    } catch (error) {
      // Arguments that cannot be copied keep a whole chunk from being handed over; only their own commit is to fail.
      if (writes.length === 1) refuse(error);
      else for (const index of writes.keys()) this.#hand(one(writes, index), one(callers, index));
    }
  }

  #settle(callers: readonly Caller[], outcomes: readonly Outcome[]): void {
    for (const [index, caller] of callers.entries()) {
      this.#unsettled.remove(caller.bytes);
      this.#underWay.remove(caller.bytes);
      settleOne(caller, outcomes[index]);
    }
    if (this.#isFull || this.#isPressing) this.#sendNow();
    if (this.#unsettled.commits > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}

function one<Item>(items: readonly Item[], index: number): Item[] {
  return items.slice(index, index + 1);
}

function settleOne({ resolve, reject }: Caller, outcome: Outcome | undefined): void {
  try {
    if (!outcome) throw new StoreError("io", "the writer gave no outcome");
    resolve(unwrap(outcome));
  } catch (error) {
    reject(error);
  }
}
