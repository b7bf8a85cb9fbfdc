import { randomUUID } from "node:crypto";
import { type Clock, errorMessage, sleep, systemClock } from "@reins/kit";
import type { EngineEnd, EngineRun, Orchestration, RunEngine, RunScope } from "./engine.ts";
import { MemoryJournal } from "./memory-journal.ts";

/** What a journal has of a run. */
export interface JournaledRun<Input, Result> {
  readonly input: Input;
  readonly entries: ReadonlyMap<string, unknown>;
  readonly isCanceled: boolean;
  readonly end: EngineEnd<Result> | undefined;
}

/** Where runs are stored. Writes about a run are stored in the order of the calls. */
export interface RunJournal<Input, Result> {
  /** Stores a new run; one that is there stays as it is. */
  create(run: string, input: Input): Promise<void>;
  load(run: string): Promise<JournaledRun<Input, Result> | undefined>;
  /** The runs that have not ended. */
  unfinished(): Promise<readonly string[]>;
  /** Stores a value under a name; one that is not durable is stored no later than the next that is. */
  append(run: string, name: string, value: unknown, how: { readonly durable: boolean }): Promise<void>;
  cancel(run: string): Promise<void>;
  end(run: string, end: EngineEnd<Result>): Promise<void>;
  /** Stores a value, and that a run has not ended after all. */
  reopen(run: string, name: string, value: unknown): Promise<void>;
}

/** A run under way. */
interface Active<Result> {
  readonly entries: Map<string, unknown>;
  /** How many values under a name were received, and what waits for the next one. */
  readonly received: Map<string, number>;
  readonly waiting: Map<string, readonly (() => void)[]>;
  readonly children: Set<string>;
  readonly cancel: AbortController;
  readonly ended: PromiseWithResolvers<Result>;
  /** How many values were sent, in all and when the orchestration looked for one last. */
  sent: number;
  seen: number | undefined;
  /** Whether its end is being stored. */
  isEnding: boolean;
}

export interface JournalEngineOptions<Input, Result> {
  readonly orchestrate: Orchestration<Input, Result>;
  /** Without one, runs live as long as the process. */
  readonly journal?: RunJournal<Input, Result> | undefined;
  /** Starts, cancels and waits for children, where another engine has this one run what it carries. */
  readonly children?: Pick<RunEngine<Input, Result>, "start" | "cancel" | "ended"> | undefined;
  readonly clock?: Clock;
  readonly newId?: () => string;
}

/** Runs orchestrations in this process, and continues those in its journal after a stop of any kind. */
export class JournalEngine<Input, Result> implements RunEngine<Input, Result> {
  readonly #orchestration: Orchestration<Input, Result>;
  readonly #journal: RunJournal<Input, Result>;
  readonly #children: Pick<RunEngine<Input, Result>, "start" | "cancel" | "ended">;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #active = new Map<string, Active<Result>>();
  readonly #closed = new AbortController();

  constructor({ orchestrate, journal, children, clock, newId }: JournalEngineOptions<Input, Result>) {
    this.#orchestration = orchestrate;
    this.#journal = journal ?? new MemoryJournal();
    this.#children = children ?? this;
    this.#clock = clock ?? systemClock;
    this.#newId = newId ?? randomUUID;
  }

  async start(run: string, input: Input): Promise<void> {
    if (this.#active.has(run)) return;
    await this.#journal.create(run, input);
    await this.continue(run);
  }

  /** With the `number` that a value has under its name, one that was sent before is not sent again. */
  async send(
    run: string,
    name: string,
    value: unknown,
    { reopen = false, number }: { readonly reopen?: boolean; readonly number?: number } = {},
  ): Promise<boolean> {
    const active = this.#active.get(run);
    if (active && !active.isEnding) {
      if (wasSent(active, name, number)) return true;
      await this.#journal.append(run, enqueue(active, name, value), value, { durable: true });
      const waiting = active.waiting.get(name) ?? [];
      active.waiting.delete(name);
      for (const wake of waiting) wake();
      return true;
    }
    if (!reopen) return false;
    await active?.ended.promise.catch(() => undefined);
    const journaled = await this.#journal.load(run);
    if (this.#active.has(run))
      return this.send(run, name, value, { reopen, ...(number !== undefined && { number }) });
    if (journaled?.end?.state !== "ended" || journaled.isCanceled) return false;
    if (wasSent(journaled, name, number)) return true;
    const reopened = this.#activate(run, journaled);
    await this.#journal.reopen(run, enqueue(reopened, name, value), value);
    void this.#orchestrate(run, journaled.input, reopened);
    return true;
  }

  async cancel(run: string): Promise<boolean> {
    const active = this.#active.get(run);
    if (!active || active.isEnding) return false;
    await this.#journal.cancel(run);
    active.cancel.abort();
    await Promise.all([...active.children].map((child) => this.#children.cancel(child)));
    return true;
  }

  async find(run: string): Promise<EngineRun<Result> | undefined> {
    if (this.#active.has(run)) return { state: "running" };
    const journaled = await this.#journal.load(run);
    return journaled && (journaled.end ?? { state: "running" });
  }

  async ended(run: string): Promise<Result> {
    const active = this.#active.get(run);
    if (active) return active.ended.promise;
    const { end } = (await this.#journal.load(run)) ?? {};
    if (end?.state === "ended") return end.result;
    throw new Error(end?.state === "failed" ? end.error : `there is no run ${run}`);
  }

  async resume(): Promise<void> {
    for (const run of await this.#journal.unfinished()) await this.continue(run);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const { ended } of this.#active.values())
      ended.reject(new Error("the engine is closed; the run is continued by the next one"));
    this.#active.clear();
  }

  /** Runs what the journal has, unless it runs already or has ended. False if it does not run. */
  async continue(run: string): Promise<boolean> {
    const journaled = this.#active.has(run) ? undefined : await this.#journal.load(run);
    if (journaled && !journaled.end && !this.#active.has(run) && !this.#closed.signal.aborted)
      void this.#orchestrate(run, journaled.input, this.#activate(run, journaled));
    return this.#active.has(run);
  }

  /** Whether a run is under way here. */
  isUnderWay(run: string): boolean {
    return this.#active.has(run);
  }

  #activate(run: string, { entries, isCanceled }: JournaledRun<Input, Result>): Active<Result> {
    const active: Active<Result> = {
      ...{ received: new Map(), waiting: new Map(), children: new Set(), sent: 0, seen: undefined },
      entries: new Map(entries),
      cancel: new AbortController(),
      ended: Promise.withResolvers(),
      isEnding: false,
    };
    active.ended.promise.catch(() => undefined);
    if (isCanceled) active.cancel.abort();
    this.#active.set(run, active);
    return active;
  }

  async #orchestrate(run: string, input: Input, active: Active<Result>): Promise<void> {
    const end = await this.#orchestration(input, this.#scope(run, active)).then(
      (result): EngineEnd<Result> => ({ state: "ended", result }),
      (error: unknown): EngineEnd<Result> => ({ state: "failed", error: errorMessage(error) }),
    );
    if (this.#closed.signal.aborted) return;
    // What was sent after the orchestration looked the last time is not lost: it takes the same course again.
    if (end.state === "ended" && active.seen !== undefined && active.seen !== active.sent) {
      active.received.clear();
      active.seen = undefined;
      return this.#orchestrate(run, input, active);
    }
    active.isEnding = true;
    try {
      await this.#journal.end(run, end);
      this.#active.delete(run);
      if (end.state === "ended") active.ended.resolve(end.result);
      else active.ended.reject(new Error(end.error));
    } catch (error) {
      this.#halt(run, active, error);
    }
  }

  /** Stops a run that cannot be stored; the next engine continues it from what was. */
  #halt(run: string, active: Active<Result>, error: unknown): void {
    if (this.#active.get(run) === active) this.#active.delete(run);
    active.ended.reject(error);
  }

  #scope(run: string, active: Active<Result>): RunScope<Input, Result> {
    const { entries, received, waiting, children } = active;
    const { signal: closed } = this.#closed;
    const store = async <Value>(name: string, value: Value, durable: boolean): Promise<Value> => {
      if (closed.aborted) return never();
      entries.set(name, value);
      const stored = this.#journal.append(run, name, value, { durable }).catch((error: unknown) => {
        this.#halt(run, active, error);
        return never<void>();
      });
      if (durable) await stored;
      return closed.aborted ? never() : value;
    };
    const once = async <Value>(
      name: string,
      make: () => Value | Promise<Value>,
      durable: boolean,
    ): Promise<Value> =>
      // Under a name stands what the same call stored before.
      entries.has(name) ? (entries.get(name) as Value) : store(name, await make(), durable);
    const childOf = (name: string) => `${run}/${name}`;
    return {
      run,
      signal: active.cancel.signal,
      step: (name, effect) => (closed.aborted ? never() : once(name, () => effect(`${run}/${name}`), true)),
      choose: (name, choice) => once(name, choice, false),
      now: (name) => once(name, () => this.#clock.now().getTime(), false),
      id: (name) => once(name, this.#newId, true),
      sleep: async (name, milliseconds, signal) => {
        const until = await once(name, () => this.#clock.now().getTime() + milliseconds, true);
        const ends = signal ? AbortSignal.any([signal, closed]) : closed;
        // A timer may be shorter than what is left.
        for (let left = milliseconds; left > 0 && !ends.aborted; ) {
          left = until - this.#clock.now().getTime();
          await sleep(left, this.#clock, ends);
        }
        if (closed.aborted) await never();
      },
      receive: async (name) => {
        for (;;) {
          const number = (received.get(name) ?? 0) + 1;
          if (entries.has(sentName(name, number))) {
            received.set(name, number);
            return entries.get(sentName(name, number));
          }
          await new Promise<void>((resolve) => waiting.set(name, [...(waiting.get(name) ?? []), resolve]));
        }
      },
      hasReceived: (name) => {
        active.seen = active.sent;
        return entries.has(sentName(name, (received.get(name) ?? 0) + 1));
      },
      spawn: async (name, input) => {
        const child = childOf(name);
        children.add(child);
        await this.#children.start(child, input);
        if (active.cancel.signal.aborted) await this.#children.cancel(child);
        return child;
      },
      join: async (name) => {
        const child = childOf(name);
        if (this.#children === this) await this.continue(child);
        return this.#children.ended(child).then(
          (result): EngineEnd<Result> => ({ state: "ended", result }),
          (error: unknown): EngineEnd<Result> | Promise<never> =>
            closed.aborted ? never() : { state: "failed", error: errorMessage(error) },
        );
      },
    };
  }
}

/** Whether a run has the value of a number under a name. */
function wasSent(
  { entries }: Pick<JournaledRun<unknown, unknown>, "entries">,
  name: string,
  number: number | undefined,
): boolean {
  return number !== undefined && entries.has(sentName(name, number));
}

/** Adds a value that is sent to a run; returns the name of its entry. */
function enqueue<Result>(active: Active<Result>, name: string, value: unknown): string {
  let number = 1;
  while (active.entries.has(sentName(name, number))) number += 1;
  active.entries.set(sentName(name, number), value);
  active.sent += 1;
  return sentName(name, number);
}

function sentName(name: string, number: number): string {
  return `sent/${name}/${number}`;
}

/** The engine was closed: the orchestration gets no further, and is continued by the next engine. */
function never<Value>(): Promise<Value> {
  return new Promise(() => undefined);
}
