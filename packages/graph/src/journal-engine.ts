import { type Clock, errorMessage, systemClock } from "@reins/kit";
import type { EngineRun, Orchestration, RunEngine, RunScope } from "./engine.ts";

/** What a journal has of a run. */
export interface JournaledRun<Input, Result> {
  readonly input: Input;
  readonly entries: ReadonlyMap<string, unknown>;
  readonly isCanceled: boolean;
  readonly end: EngineRun<Result> | undefined;
}

/** Where runs are stored. Appends of a run are stored in the order of the calls. */
export interface RunJournal<Input, Result> {
  /** Stores a new run; one that is there stays as it is. */
  create(run: string, input: Input): Promise<void>;
  load(run: string): Promise<JournaledRun<Input, Result> | undefined>;
  /** The runs that have not ended. */
  unfinished(): Promise<readonly string[]>;
  /** Stores a value under a name; one that is not durable is stored no later than the next that is. */
  append(run: string, name: string, value: unknown, how: { readonly durable: boolean }): Promise<void>;
  cancel(run: string): Promise<void>;
  end(run: string, end: EngineRun<Result>): Promise<void>;
}

interface Active<Result> {
  readonly entries: Map<string, unknown>;
  readonly received: Map<string, PromiseWithResolvers<unknown>>;
  readonly cancel: AbortController;
  readonly ended: PromiseWithResolvers<Result>;
}

export interface JournalEngineOptions<Input, Result> {
  readonly orchestrate: Orchestration<Input, Result>;
  /** Without one, runs live as long as the process. */
  readonly journal?: RunJournal<Input, Result> | undefined;
  readonly clock?: Clock;
}

/** Runs orchestrations in this process, and continues those in its journal after a stop of any kind. */
export class JournalEngine<Input, Result> implements RunEngine<Input, Result> {
  readonly #options: JournalEngineOptions<Input, Result>;
  readonly #clock: Clock;
  readonly #active = new Map<string, Active<Result>>();
  #isClosed = false;

  constructor(options: JournalEngineOptions<Input, Result>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async start(run: string, input: Input): Promise<void> {
    if (this.#active.has(run)) return;
    await this.#options.journal?.create(run, input);
    const journaled = await this.#options.journal?.load(run);
    if (journaled?.end || this.#active.has(run)) return;
    this.#run(run, journaled ?? { input, entries: new Map(), isCanceled: false, end: undefined });
  }

  async send(run: string, name: string, value: unknown): Promise<boolean> {
    const active = this.#active.get(run);
    if (!active) return false;
    if (active.entries.has(name)) return true;
    active.entries.set(name, value);
    await this.#options.journal?.append(run, name, value, { durable: true });
    this.#receiver(active, name).resolve(value);
    return true;
  }

  async cancel(run: string): Promise<boolean> {
    const active = this.#active.get(run);
    if (!active) return false;
    await this.#options.journal?.cancel(run);
    active.cancel.abort();
    return true;
  }

  async find(run: string): Promise<EngineRun<Result> | undefined> {
    if (this.#active.has(run)) return { state: "running" };
    const journaled = await this.#options.journal?.load(run);
    return journaled && (journaled.end ?? { state: "running" });
  }

  async ended(run: string): Promise<Result> {
    const active = this.#active.get(run);
    if (active) return active.ended.promise;
    const { end } = (await this.#options.journal?.load(run)) ?? {};
    if (end?.state === "ended") return end.result;
    throw new Error(end?.state === "failed" ? end.error : `there is no run ${run}`);
  }

  async resume(): Promise<void> {
    const { journal } = this.#options;
    for (const run of (await journal?.unfinished()) ?? []) {
      const journaled = this.#active.has(run) ? undefined : await journal?.load(run);
      if (journaled && !journaled.end) this.#run(run, journaled);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { ended } of this.#active.values()) {
      ended.promise.catch(() => undefined);
      ended.reject(new Error("the engine is closed; the run is continued by the next one"));
    }
    this.#active.clear();
  }

  #run(run: string, { input, entries, isCanceled }: JournaledRun<Input, Result>): void {
    const active: Active<Result> = {
      entries: new Map(entries),
      received: new Map(),
      cancel: new AbortController(),
      ended: Promise.withResolvers(),
    };
    active.ended.promise.catch(() => undefined);
    if (isCanceled) active.cancel.abort();
    this.#active.set(run, active);
    void this.#orchestrate(run, input, active);
  }

  async #orchestrate(run: string, input: Input, active: Active<Result>): Promise<void> {
    const { orchestrate, journal } = this.#options;
    try {
      const result = await orchestrate(input, this.#scope(run, active));
      if (this.#isClosed) return;
      await journal?.end(run, { state: "ended", result });
      active.ended.resolve(result);
    } catch (error) {
      if (this.#isClosed) return;
      await journal?.end(run, { state: "failed", error: errorMessage(error) }).catch(() => undefined);
      active.ended.reject(error);
    }
    this.#active.delete(run);
  }

  #scope(run: string, active: Active<Result>): RunScope {
    const { entries } = active;
    const stored = <Value>(name: string): { readonly value: Value } | undefined =>
      // Under a name stands what the same call stored before, or what was sent to it.
      entries.has(name) ? { value: entries.get(name) as Value } : undefined;
    const store = async <Value>(name: string, value: Value, durable: boolean): Promise<Value> => {
      entries.set(name, value);
      await this.#options.journal?.append(run, name, value, { durable });
      return this.#isClosed ? never() : value;
    };
    const choose = async <Value>(name: string, value: Value): Promise<Value> => {
      const known = stored<Value>(name);
      if (known) return known.value;
      entries.set(name, value);
      void this.#options.journal?.append(run, name, value, { durable: false }).catch(() => undefined);
      return value;
    };
    return {
      run,
      signal: active.cancel.signal,
      step: async (name, effect) => {
        if (this.#isClosed) return never();
        const known = stored<Awaited<ReturnType<typeof effect>>>(name);
        return known ? known.value : store(name, await effect(`${run}/${name}`), true);
      },
      choose,
      now: (name) => choose(name, this.#clock.now().getTime()),
      sleep: async (name, milliseconds) => {
        const until =
          stored<number>(name)?.value ??
          (await store(name, this.#clock.now().getTime() + milliseconds, true));
        await this.#until(until);
      },
      receive: async (name) => {
        const known = stored<unknown>(name);
        return known ? known.value : this.#receiver(active, name).promise;
      },
    };
  }

  #receiver({ received }: Active<Result>, name: string): PromiseWithResolvers<unknown> {
    const known = received.get(name) ?? Promise.withResolvers<unknown>();
    received.set(name, known);
    return known;
  }

  #until(time: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#clock.after(Math.max(0, time - this.#clock.now().getTime()), resolve);
    return promise;
  }
}

/** The engine was closed: the orchestration gets no further, and is continued by the next engine. */
function never<Value>(): Promise<Value> {
  return new Promise(() => undefined);
}
