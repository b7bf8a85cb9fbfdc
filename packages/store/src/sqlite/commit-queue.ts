import { StoreError } from "../store-error.ts";
import { failed, type Outcome, type Write } from "./threads.ts";

/** Runs at most one job in each turn of the event loop, in order; the first at once. */
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

/** Sends commits to the writer; resolves to their outcomes, in order. */
type Send = (writes: readonly Write[]) => Promise<readonly Outcome[]>;

/** The caller of a commit. Kept apart from the changes, which are released once they are sent. */
interface Caller {
  readonly resolve: (results: unknown[]) => void;
  readonly reject: (error: unknown) => void;
  readonly bytes: number;
  /** Whether the commit may wait for others. */
  readonly relaxed: boolean;
}

/** Sent in one message; copying so much to another thread takes a fraction of a millisecond. */
export const CHUNK: LoadLimit = { commits: 64, bytes: 262_144 };
/** Sent and not settled; enough for a batch to gather while another is written. */
const WINDOW: LoadLimit = { commits: 2_048, bytes: 16_777_216 };

/** How long a relaxed commit waits for others to be sent with. */
const RELAXED_MS = 20;

/**
 * The queue of commits in front of the writer. Chunks are sent and settled one per turn of the event loop, so that
 * thousands of commits never block it.
 */
export class CommitQueue {
  readonly #send: Send;
  readonly #limit: LoadLimit;
  readonly #chunk: LoadLimit;
  readonly #unsettled: Load;
  readonly #inFlight = new Load(WINDOW);
  readonly #settling = new Pace();
  /** Writes that wait to be sent, and their callers. */
  #writes: Write[] = [];
  #callers: Caller[] = [];
  /** Whether chunks are being sent, one in each turn of the event loop. */
  #sending = false;
  /** Sends commits that need not be durable at the end of this turn. */
  #soon: NodeJS.Immediate | undefined;
  /** Sends relaxed commits a little later. The timer is refreshed rather than made anew. */
  #later: NodeJS.Timeout | undefined;
  /** Whether everything queued is sent, relaxed commits included. */
  #isDue = false;
  /** Whether commits were held back because too many are in flight. */
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
   * A durable commit is sent as soon as no promise is left to settle, together with everything queued before it.
   */
  #sendNow(): void {
    if (this.#sending) return;
    this.#sending = true;
    process.nextTick(() => this.#sendChunk());
  }

  /** A commit that need not be durable is sent at the end of this turn of the event loop. */
  #sendSoon(): void {
    if (this.#sending) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#sendAll();
    });
  }

  /** A relaxed commit is sent with the next other one, or a little later. */
  #sendLater(): void {
    if (!this.#sending && this.#writes.length === 1) this.#startTimer();
  }

  #startTimer(): void {
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
    this.#sendTo(this.#writes.splice(0, count), this.#callers.splice(0, count));
    this.#isDue &&= this.#writes.length > 0;
    setImmediate(() => this.#continue());
  }

  #continue(): void {
    if (this.#isPressing) {
      this.#sendChunk();
      return;
    }
    this.#sending = false;
    if (this.#writes.length > 0) this.#startTimer();
  }

  /** Whether something queued is not relaxed, or everything is flushed. */
  get #isPressing(): boolean {
    if (this.#callers.length === 0) return false;
    return this.#isDue || this.#idle !== undefined || this.#callers.some(({ relaxed }) => !relaxed);
  }

  /** How many commits make up the next chunk; from then on they count as in flight. */
  #takeChunk(): number {
    const size = new Load(this.#chunk);
    for (const { bytes } of this.#callers) {
      if (!size.fits(bytes) || !this.#inFlight.fits(bytes)) break;
      size.add(bytes);
      this.#inFlight.add(bytes);
    }
    return size.commits;
  }

  #sendTo(writes: readonly Write[], callers: readonly Caller[]): void {
    const settle = (outcomes: readonly Outcome[]) =>
      this.#settling.add(() => this.#settle(callers, outcomes));
    const refuse = (error: unknown) => settle(callers.map(() => failed(error)));
    try {
      this.#send(writes).then(settle, refuse);
    } catch (error) {
      // Arguments that cannot be copied keep a whole chunk from being sent; only their own commit must fail.
      if (writes.length === 1) refuse(error);
      else for (const index of writes.keys()) this.#sendTo(one(writes, index), one(callers, index));
    }
  }

  #settle(callers: readonly Caller[], outcomes: readonly Outcome[]): void {
    for (const [index, caller] of callers.entries()) {
      this.#unsettled.remove(caller.bytes);
      this.#inFlight.remove(caller.bytes);
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
  if (!outcome) reject(new StoreError("io", "the writer returned no outcome"));
  else if ("error" in outcome) reject(new StoreError(outcome.error.code, outcome.error.message));
  else resolve(outcome.results);
}

/** How many commits, and about how many bytes in them. */
interface LoadLimit {
  readonly commits: number;
  readonly bytes: number;
}

/** Counts commits and their bytes against a limit. One commit alone always fits. */
class Load {
  readonly #limit: LoadLimit;
  #commits = 0;
  #bytes = 0;

  constructor(limit: LoadLimit) {
    this.#limit = limit;
  }

  get commits(): number {
    return this.#commits;
  }

  /** Whether a commit of so many bytes may be added. */
  fits(bytes: number): boolean {
    if (this.#commits === 0) return true;
    return this.#commits < this.#limit.commits && this.#bytes + bytes <= this.#limit.bytes;
  }

  add(bytes: number): void {
    this.#commits += 1;
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#commits -= 1;
    this.#bytes -= bytes;
  }
}

/** Estimates the bytes of plain data, to bound queues by it. Stops counting at `limit`. */
export function weightOf(data: unknown, limit: number): number {
  let weight = 0;
  const left: object[] = [];
  const weigh = (part: unknown): void => {
    weight += 8;
    if (typeof part === "string") weight += part.length;
    else if (typeof part === "object" && part !== null) left.push(part);
  };
  weigh(data);
  for (let value = left.pop(); value !== undefined && weight < limit; value = left.pop()) {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) weight += value.byteLength;
    else for (const part of Array.isArray(value) ? value : Object.values(value)) weigh(part);
  }
  return weight;
}
