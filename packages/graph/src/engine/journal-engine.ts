import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
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

/**
 * What a run under way is doing. It changes in this order; every step is stored before the next begins.
 * - `reopening`: it has ended, and that it continues is being stored.
 * - `running`: its orchestration runs.
 * - `ending`: its end is being stored.
 */
type RunPhase = "reopening" | "running" | "ending";

/** A run under way. */
interface Active<Result> {
  readonly entries: Map<string, unknown>;
  readonly children: Set<string>;
  readonly cancel: AbortController;
  readonly ended: PromiseWithResolvers<Result>;
  phase: RunPhase;
  /** Settles when it is `running` again, or under way no more. */
  settled: Promise<unknown>;
  /** The numbers of the values that were sent under a name. One that could not be stored leaves a gap. */
  readonly sent: Map<string, number[]>;
  /** How many values were sent since it is under way. */
  count: number;
  /** The orchestration that runs. What an earlier one still waits for never comes. */
  pass: Pass;
}

/** One course of an orchestration. A run that is sent something as it ends takes another. */
interface Pass {
  /** How many values under a name were received, and what waits for the next one. */
  readonly received: Map<string, number>;
  readonly waiting: Map<string, readonly (() => void)[]>;
  /** How many values had been sent when the orchestration looked for one last. */
  seen: number | undefined;
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
  /** Reads of the journal, and whether their run was begun here meanwhile. */
  readonly #loads = new Set<{ readonly run: string; isOld: boolean }>();
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
    for (;;) {
      const active = this.#active.get(run);
      if (active && wasSent(active, name, number)) return true;
      if (active?.cancel.signal.aborted) return false;
      if (active?.phase === "running") return this.#deliver(run, active, name, value);
      if (active?.phase === "ending" && !reopen) return false;
      if (active) {
        await active.settled;
        continue;
      }
      const journaled = reopen ? await this.#load(run) : undefined;
      if (journaled === "active" || this.#active.has(run)) continue;
      const mayReopen = journaled?.end?.state === "ended" && !journaled.isCanceled;
      if (!mayReopen || this.#closed.signal.aborted) return false;
      if (wasSent(journaled, name, number)) return true;
      await this.#reopen(run, journaled, name, value);
      return true;
    }
  }

  async cancel(run: string): Promise<boolean> {
    while (this.#active.get(run)?.phase === "reopening") await this.#active.get(run)?.settled;
    const active = this.#active.get(run);
    if (active?.phase !== "running") return false;
    // What follows from the signal is stored after the cancel.
    const storing = this.#stored(run, active, this.#journal.cancel(run));
    active.cancel.abort();
    await Promise.all([storing, ...[...active.children].map((child) => this.#children.cancel(child))]);
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
    const found = await this.#load(run);
    if (found === "active") return this.ended(run);
    if (found?.end?.state === "ended") return found.end.result;
    throw new Error(found?.end?.state === "failed" ? found.end.error : `there is no run ${run}`);
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
    const journaled = await this.#load(run);
    const isFree = journaled !== "active" && !this.#active.has(run) && !this.#closed.signal.aborted;
    if (isFree && journaled && !journaled.end)
      void this.#orchestrate(run, journaled.input, this.#activate(run, journaled, "running"));
    return this.#active.has(run);
  }

  /** Whether a run is under way here. */
  isUnderWay(run: string): boolean {
    return this.#active.has(run);
  }

  /**
   * What the journal has of a run that is not active, read again where the run was begun meanwhile: it may have ended,
   * and by what was read before it would be carried a second time.
   */
  async #load(run: string): Promise<JournaledRun<Input, Result> | "active" | undefined> {
    while (!this.#active.has(run)) {
      const load = { run, isOld: false };
      this.#loads.add(load);
      const found = await this.#journal.load(run).finally(() => this.#loads.delete(load));
      if (!load.isOld) return found;
    }
    return "active";
  }

  #activate(
    run: string,
    { entries, isCanceled }: JournaledRun<Input, Result>,
    phase: RunPhase,
  ): Active<Result> {
    const active: Active<Result> = {
      ...{ children: new Set(), count: 0, pass: newPass(), phase, settled: Promise.resolve() },
      sent: sentIn(entries),
      entries: new Map(entries),
      cancel: new AbortController(),
      ended: Promise.withResolvers(),
    };
    active.ended.promise.catch(() => undefined);
    if (isCanceled) active.cancel.abort();
    this.#active.set(run, active);
    for (const load of this.#loads) if (load.run === run) load.isOld = true;
    return active;
  }

  async #deliver(run: string, active: Active<Result>, name: string, value: unknown): Promise<boolean> {
    const { waiting } = active.pass;
    const entry = enqueue(active, name, value);
    await this.#stored(run, active, this.#journal.append(run, entry, value, { durable: true }));
    const waits = waiting.get(name) ?? [];
    waiting.delete(name);
    for (const wake of waits) wake();
    // All that follows at once has happened then.
    await setImmediate();
    return true;
  }

  /** Continues a run that has ended, with a value more; it stays ended where that cannot be stored. */
  async #reopen(
    run: string,
    journaled: JournaledRun<Input, Result>,
    name: string,
    value: unknown,
  ): Promise<void> {
    const active = this.#activate(run, journaled, "reopening");
    const storing = this.#stored(run, active, this.#journal.reopen(run, enqueue(active, name, value), value));
    active.settled = storing.catch(() => undefined);
    await storing;
    active.phase = "running";
    void this.#orchestrate(run, journaled.input, active);
  }

  async #orchestrate(run: string, input: Input, active: Active<Result>): Promise<void> {
    const { pass } = active;
    const end = await this.#orchestration(input, this.#scope(run, active)).then(
      (result): EngineEnd<Result> => ({ state: "ended", result }),
      (error: unknown): EngineEnd<Result> => ({ state: "failed", error: errorMessage(error) }),
    );
    if (this.#closed.signal.aborted || this.#active.get(run) !== active) return;
    // What was sent after the orchestration looked the last time is not lost: it takes the same course again.
    if (end.state === "ended" && pass.seen !== undefined && pass.seen !== active.count) {
      active.pass = newPass();
      return this.#orchestrate(run, input, active);
    }
    active.phase = "ending";
    active.settled = active.ended.promise.catch(() => undefined);
    try {
      await this.#stored(run, active, this.#journal.end(run, end));
    } catch {
      // Callers of `ended` have the error.
      return;
    }
    this.#active.delete(run);
    if (end.state === "ended") active.ended.resolve(end.result);
    else active.ended.reject(new Error(end.error));
  }

  /** Waits for a write. A run that cannot be stored goes no further; the next engine continues it from what was. */
  async #stored(run: string, active: Active<Result>, storing: Promise<void>): Promise<void> {
    try {
      await storing;
    } catch (error) {
      if (this.#active.get(run) === active) this.#active.delete(run);
      active.ended.reject(error);
      throw error;
    }
  }

  #scope(run: string, active: Active<Result>): RunScope<Input, Result> {
    const { entries, children, pass, sent } = active;
    const { received, waiting } = pass;
    const { signal: closed } = this.#closed;
    const store = async <Value>(name: string, value: Value, durable: boolean): Promise<Value> => {
      if (closed.aborted) return never();
      entries.set(name, value);
      const storing = this.#journal.append(run, name, value, { durable });
      const stored = this.#stored(run, active, storing).catch(() => never<void>());
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
    const isThere = (name: string) => (sent.get(name)?.length ?? 0) > (received.get(name) ?? 0);
    const available = async (name: string): Promise<void> => {
      while (!isThere(name))
        await new Promise<void>((resolve) => waiting.set(name, [...(waiting.get(name) ?? []), resolve]));
    };
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
        // A clock that is set back makes it no longer.
        for (let left = milliseconds; left > 0 && !ends.aborted; left -= LONGEST_TIMER)
          await sleep(Math.min(left, until - this.#clock.now().getTime(), LONGEST_TIMER), this.#clock, ends);
        if (closed.aborted) await never();
      },
      receive: async (name) => {
        await available(name);
        const count = received.get(name) ?? 0;
        received.set(name, count + 1);
        return entries.get(sentName(name, sent.get(name)?.[count]));
      },
      hasReceived: (name) => {
        pass.seen = active.count;
        return isThere(name);
      },
      available,
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

function newPass(): Pass {
  return { received: new Map(), waiting: new Map(), seen: undefined };
}

/** Adds a value that is sent to a run; returns the name of its entry. */
function enqueue<Result>(active: Active<Result>, name: string, value: unknown): string {
  const numbers = active.sent.get(name) ?? [];
  const number = (numbers.at(-1) ?? 0) + 1;
  numbers.push(number);
  active.sent.set(name, numbers);
  active.entries.set(sentName(name, number), value);
  active.count += 1;
  return sentName(name, number);
}

const SENT = "sent/";
const LONGEST_TIMER = 2 ** 31 - 1;

function sentName(name: string, number: number | undefined): string {
  return `${SENT}${name}/${number}`;
}

/** The number of a value that was sent to a run under a name, by the name of its entry; `undefined` for any other entry. */
export function sentNumber(entry: string, name: string): number | undefined {
  const start = `${SENT}${name}/`;
  return entry.startsWith(start) ? Number(entry.slice(start.length)) : undefined;
}

/** The numbers of the values that a journal has as sent, by name, the first first. */
function sentIn(entries: ReadonlyMap<string, unknown>): Map<string, number[]> {
  const sent = new Map<string, number[]>();
  for (const entry of entries.keys()) {
    if (!entry.startsWith(SENT)) continue;
    const name = entry.slice(SENT.length, entry.lastIndexOf("/"));
    const numbers = sent.get(name) ?? [];
    numbers.push(Number(entry.slice(entry.lastIndexOf("/") + 1)));
    sent.set(name, numbers);
  }
  for (const numbers of sent.values()) numbers.sort((one, two) => one - two);
  return sent;
}

/** The engine was closed: the orchestration gets no further, and is continued by the next engine. */
function never<Value>(): Promise<Value> {
  return new Promise(() => undefined);
}
