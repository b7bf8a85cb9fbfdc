import { StoreError } from "../store-error.ts";
import { Load, type LoadLimit } from "./load.ts";
import type { Write } from "./messages.ts";
import { failed, type Outcome, unwrap } from "./outcome.ts";
import { Pace } from "./pace.ts";
import { weightOf } from "./weight.ts";

/** Hands commits to the writer and gives their outcomes, in order. */
type Send = (writes: readonly Write[]) => Promise<readonly Outcome[]>;

interface Caller {
  readonly resolve: (results: unknown[]) => void;
  readonly reject: (error: unknown) => void;
  readonly bytes: number;
}

interface Waiting {
  readonly write: Write;
  readonly caller: Caller;
}

/** Handed over in one message; copying so much to another thread takes a fraction of a millisecond. */
export const CHUNK: LoadLimit = { commits: 64, bytes: 262_144 };
/** Handed over and not settled; enough for a batch to gather while another is written. */
const WINDOW: LoadLimit = { commits: 2_048, bytes: 16_777_216 };

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
  #waiting: Waiting[] = [];
  /** Whether chunks are on their way, one in each turn of the event loop. */
  #sending = false;
  /** Whether what need not wait for the disk is handed over when this turn of the event loop is over. */
  #sendingLater = false;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(send: Send, limit: LoadLimit, chunk = CHUNK) {
    this.#send = send;
    this.#limit = limit;
    this.#chunk = chunk;
    this.#unsettled = new Load(limit);
  }

  /** Queues a commit; settles when its batch is written. */
  add(write: Write): Promise<unknown[]> {
    const bytes = weightOf(write.changes, this.#limit.bytes);
    if (!this.#unsettled.fits(bytes)) {
      const text = `${this.#unsettled.commits} commits wait to be written already; try again later`;
      return Promise.reject(new StoreError("overloaded", text));
    }
    this.#unsettled.add(bytes);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, caller: { resolve, reject, bytes } });
      this.#sendSoon(write.durable);
    });
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    if (this.#unsettled.commits === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  /**
   * Commits asked for in the same turn of the event loop go together. One that somebody waits for on the disk goes as
   * soon as no promise is left to settle, and takes along what was asked for before it.
   */
  #sendSoon(durable: boolean): void {
    if (this.#sending) return;
    if (durable) {
      this.#sending = true;
      process.nextTick(() => this.#sendChunk());
    } else if (!this.#sendingLater) {
      this.#sendingLater = true;
      setImmediate(() => {
        this.#sendingLater = false;
        if (!this.#sending) this.#sendChunk();
      });
    }
  }

  #sendChunk(): void {
    const chunk = this.#takeChunk();
    this.#sending = chunk.length > 0;
    if (!this.#sending) return;
    this.#hand(chunk);
    setImmediate(() => this.#sendChunk());
  }

  #takeChunk(): readonly Waiting[] {
    const size = new Load(this.#chunk);
    for (const { caller } of this.#waiting) {
      if (!size.fits(caller.bytes) || !this.#underWay.fits(caller.bytes)) break;
      size.add(caller.bytes);
      this.#underWay.add(caller.bytes);
    }
    return this.#waiting.splice(0, size.commits);
  }

  /** Hands a chunk over. From then on only the callers' promises are held, and no longer what they asked for. */
  #hand(chunk: readonly Waiting[]): void {
    const callers = chunk.map(({ caller }) => caller);
    const settle = (outcomes: readonly Outcome[]) =>
      this.#settling.add(() => this.#settle(callers, outcomes));
    const refuse = (error: unknown) => settle(callers.map(() => failed(error)));
    try {
      this.#send(chunk.map(({ write }) => write)).then(settle, refuse);
    } catch (error) {
      // Arguments that cannot be copied keep a whole chunk from being handed over; only their own commit is to fail.
      if (chunk.length > 1) for (const one of chunk) this.#hand([one]);
      else refuse(error);
    }
  }

  #settle(callers: readonly Caller[], outcomes: readonly Outcome[]): void {
    for (const [index, caller] of callers.entries()) {
      this.#unsettled.remove(caller.bytes);
      this.#underWay.remove(caller.bytes);
      settleOne(caller, outcomes[index]);
    }
    if (this.#waiting.length > 0) this.#sendSoon(true);
    if (this.#unsettled.commits === 0) this.#idle?.resolve();
  }
}

function settleOne({ resolve, reject }: Caller, outcome: Outcome | undefined): void {
  try {
    if (!outcome) throw new StoreError("io", "the writer gave no outcome");
    resolve(unwrap(outcome));
  } catch (error) {
    reject(error);
  }
}
