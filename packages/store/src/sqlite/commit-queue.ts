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
  /** Whether nobody waits for it. */
  readonly relaxed: boolean;
  readonly caller: Caller;
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
  #waiting: Waiting[] = [];
  /** Whether chunks are on their way, one in each turn of the event loop. */
  #sending = false;
  /** What hands over, later, what nobody waits for on the disk. */
  #later: { readonly relaxed: boolean; callOff(): void } | undefined;
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
      this.#waiting.push({ write, relaxed, caller: { resolve, reject, bytes } });
      if (write.durable) this.#sendNow();
      else this.#sendLater(relaxed);
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

  /** Anything else goes at the end of this turn of the event loop, or a little later. */
  #sendLater(relaxed: boolean): void {
    if (this.#sending || (this.#later && (relaxed || !this.#later.relaxed))) return;
    this.#later?.callOff();
    const send = () => {
      this.#later = undefined;
      this.#isDue = true;
      if (!this.#sending) this.#sendChunk();
    };
    if (relaxed) {
      const timer = setTimeout(send, RELAXED_MS);
      this.#later = { relaxed, callOff: () => clearTimeout(timer) };
    } else {
      const immediate = setImmediate(send);
      this.#later = { relaxed, callOff: () => clearImmediate(immediate) };
    }
  }

  #sendChunk(): void {
    const chunk = this.#takeChunk();
    this.#sending = chunk.length > 0;
    this.#isDue &&= this.#waiting.length > 0;
    this.#isFull = !this.#sending && this.#waiting.length > 0;
    if (!this.#sending) return;
    this.#later?.callOff();
    this.#later = undefined;
    this.#hand(chunk);
    setImmediate(() => this.#goOn());
  }

  #goOn(): void {
    if (this.#isPressing) {
      this.#sendChunk();
      return;
    }
    this.#sending = false;
    if (this.#waiting.length > 0) this.#sendLater(true);
  }

  /** Whether something waits that somebody waits for, or everything is waited for. */
  get #isPressing(): boolean {
    const isAll = this.#isDue || this.#idle !== undefined;
    return this.#waiting.some(({ relaxed }) => isAll || !relaxed);
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
    if (this.#isFull || this.#isPressing) this.#sendNow();
    if (this.#unsettled.commits > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
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
