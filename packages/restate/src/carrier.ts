import { randomUUID } from "node:crypto";
import type { EngineEnd, JournalEngine, JournalSeal, RunJournal } from "@reins/graph";
import { systemClock } from "@reins/kit";

/** A message for a run: a sealed value under a name, or without one a sealed cancel. */
export interface InboxMessage {
  /** Its place among all messages of the run, from 1. */
  readonly seq: number;
  readonly name?: string | undefined;
  /** Its place among those of its name, from 1. */
  readonly number?: number | undefined;
  readonly sealed: string;
}

/** How far a run has come in a process, as Restate stores it. It holds nothing of what was done. */
export interface WorkerProgress {
  /** The process. */
  readonly worker: string;
  /** What it has stored of the run, counted. */
  readonly upTo: number;
  readonly isEnd: boolean;
  /** The last message that its journal has. */
  readonly delivered: number;
}

interface Waiting {
  readonly number: number;
  readonly isEnd: boolean;
  readonly kept: () => void;
}

/** What this process knows of a run that Restate has it carry. */
interface Carried {
  /** What Restate carries it by now; messages are counted from its beginning. */
  turn: string | undefined;
  /** Aborts when Restate is not connected with the run here any more. */
  connected: AbortSignal;
  waiting: readonly Waiting[];
  count: number;
  handed: number;
  delivered: number;
  /** The number of the last value under each name that the run has got here. */
  readonly received: Map<string, number>;
  delivering: Promise<void>;
  failure: { readonly error: unknown } | undefined;
  changed: PromiseWithResolvers<void>;
}

export interface CarrierOptions {
  readonly seal: JournalSeal;
  /** Called when a run has to wait for Restate, and with `undefined` when it no longer does. */
  readonly onWait: (run: string, reason: string | undefined) => void;
}

/** How long a run may wait for Restate before that is reported. */
const NOTICE_MS = 5_000;

/**
 * Connects the runs in this process with their invocations in Restate. A run gets no further than Restate has stored: a
 * process that lost a run to another one does not begin the next step of it.
 */
export class Carrier<Input, Result> {
  readonly #options: CarrierOptions;
  readonly #worker = randomUUID();
  readonly #runs = new Map<string, Carried>();
  #local: Pick<JournalEngine<Input, Result>, "continue" | "send" | "cancel"> | undefined;
  #isClosed = false;

  constructor(options: CarrierOptions) {
    this.#options = options;
  }

  /** Names the engine that runs what is carried. */
  carryIn(local: Pick<JournalEngine<Input, Result>, "continue" | "send" | "cancel">): void {
    this.#local = local;
  }

  /** A journal whose runs wait until Restate knows what was stored. */
  journal(inner: RunJournal<Input, Result>): RunJournal<Input, Result> {
    const known = async (run: string, store: Promise<void>, isEnd = false) => {
      try {
        await store;
      } catch (error) {
        this.#fail(run, error);
        throw error;
      }
      await this.#known(run, isEnd);
    };
    return {
      create: (run, input) => inner.create(run, input),
      load: (run) => inner.load(run),
      unfinished: () => inner.unfinished(),
      cancel: (run) => inner.cancel(run),
      reopen: (run, name, value) => inner.reopen(run, name, value),
      append: (run, name, value, how) => {
        const stored = inner.append(run, name, value, how);
        return how.durable ? known(run, stored) : stored;
      },
      end: (run: string, end: EngineEnd<Result>) => known(run, inner.end(run, end), true),
    };
  }

  /** Restate has connected with a run here, until a signal aborts. */
  connect(run: string, turn: string, connected: AbortSignal): void {
    const carried = this.#of(run, turn);
    carried.connected = connected;
    this.#wake(carried);
  }

  /** Resolves while Restate is connected with a run here: without that, another process may run it. */
  async connection(run: string): Promise<void> {
    const carried = this.#of(run);
    while (carried.connected.aborted || this.#isClosed) await carried.changed.promise;
  }

  /** Resolves with the next thing that Restate has to store; continues the run if it is not under way. */
  async next(run: string, turn: string): Promise<WorkerProgress> {
    const carried = this.#of(run, turn);
    while (!this.#isClosed) {
      const { failure, changed } = carried;
      carried.failure = undefined;
      if (failure) throw failure.error;
      const last = carried.waiting.at(-1);
      if (last) return this.#mark(carried, last.number, last.isEnd);
      await Promise.race([carried.delivering, changed.promise]);
      const isUnderWay = await this.#local?.continue(run);
      if (this.#isClosed || carried.waiting.length > 0 || carried.failure) continue;
      if (!isUnderWay) return this.#mark(carried, carried.count, true);
      await changed.promise;
    }
    // The next process goes on.
    return new Promise(() => undefined);
  }

  /** Lets runs come to nothing more here. */
  close(): void {
    this.#isClosed = true;
    for (const carried of this.#runs.values()) this.#wake(carried);
  }

  /** Restate has stored a mark; what waited for it goes on. */
  store(run: string, { worker, upTo }: WorkerProgress): void {
    const carried = this.#runs.get(run);
    if (!carried || worker !== this.#worker) return;
    const { waiting } = carried;
    carried.waiting = waiting.filter(({ number }) => number > upTo);
    for (const { number, kept } of waiting) if (number <= upTo) kept();
  }

  /** The run is over for Restate. */
  over(run: string, mark: WorkerProgress): void {
    this.store(run, mark);
    const carried = this.#runs.get(run);
    this.#runs.delete(run);
    if (carried) this.#wake(carried);
  }

  /** Resolves when a run has got a value here and gone on with it, or is not carried here any more. */
  async received(run: string, name: string, number: number): Promise<void> {
    const carried = this.#of(run);
    const isThere = () => (carried.received.get(name) ?? 0) >= number;
    while (!isThere() && this.#runs.get(run) === carried && !this.#isClosed) await carried.changed.promise;
  }

  /** Hands messages to a run, in their order; those that it has got already change nothing. */
  deliver(run: string, turn: string, messages: readonly InboxMessage[]): void {
    const carried = this.#of(run, turn);
    for (const message of messages) {
      if (message.seq <= carried.handed) continue;
      carried.handed = message.seq;
      carried.delivering = carried.delivering.then(() => this.#deliver(run, carried, message));
    }
  }

  /** Seals a value that is sent to a run; without a name, that it is canceled. */
  sealed(run: string, name: string | undefined, value: unknown): string {
    return this.#options.seal.seal(messagePlace(run, name), JSON.stringify(value ?? null));
  }

  /** What was sealed. Throws for what another process has sealed that is no Reins of this home. */
  opened(run: string, { name, sealed }: Pick<InboxMessage, "name" | "sealed">): unknown {
    return JSON.parse(this.#options.seal.open(messagePlace(run, name), sealed));
  }

  async #deliver(run: string, carried: Carried, message: InboxMessage): Promise<void> {
    if (message.seq > carried.handed) return;
    try {
      await this.#local?.continue(run);
      const value = this.opened(run, message);
      const { name, number } = message;
      if (name === undefined) await this.#local?.cancel(run);
      else {
        await this.#local?.send(run, name, value, { reopen: true, ...(number !== undefined && { number }) });
        carried.received.set(name, number ?? 0);
      }
      carried.delivered = message.seq;
      this.#wake(carried);
    } catch (error) {
      // It comes again when Restate has the run carried again.
      carried.handed = carried.delivered;
      this.#fail(run, error);
    }
  }

  /** Resolves when Restate knows that the run has come further. */
  async #known(run: string, isEnd: boolean): Promise<void> {
    const carried = this.#of(run);
    const { onWait } = this.#options;
    const { promise, resolve: kept } = Promise.withResolvers<void>();
    carried.count += 1;
    carried.waiting = [...carried.waiting, { number: carried.count, isEnd, kept }];
    this.#wake(carried);
    let isLate = false;
    const cancel = systemClock.after(NOTICE_MS, () => {
      isLate = true;
      onWait(run, "it waits for Restate, which does not answer");
    });
    await promise;
    cancel();
    if (isLate) onWait(run, undefined);
  }

  #fail(run: string, error: unknown): void {
    const carried = this.#of(run);
    carried.failure = { error };
    this.#wake(carried);
  }

  #mark({ delivered }: Carried, upTo: number, isEnd: boolean): WorkerProgress {
    return { worker: this.#worker, upTo, isEnd, delivered };
  }

  #wake(carried: Carried): void {
    carried.changed.resolve();
    carried.changed = Promise.withResolvers();
  }

  #of(run: string, turn?: string): Carried {
    const known = this.#runs.get(run);
    if (known && turn !== undefined && known.turn !== turn)
      Object.assign(known, { turn, handed: 0, delivered: 0 });
    if (known) return known;
    const carried: Carried = {
      ...{ turn, waiting: [], count: 0, handed: 0, delivered: 0, failure: undefined },
      received: new Map(),
      connected: AbortSignal.abort(),
      delivering: Promise.resolve(),
      changed: Promise.withResolvers(),
    };
    this.#runs.set(run, carried);
    return carried;
  }
}

function messagePlace(run: string, name: string | undefined): string {
  return name === undefined ? `graph_messages/${run}/cancel` : `graph_messages/${run}/sent/${name}`;
}
