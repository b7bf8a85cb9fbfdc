import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Random, seededRandom } from "../../../../scripts/torture/random.ts";
import type { EngineEnd, Orchestration, RunEngine } from "./engine.ts";
import { JournalEngine } from "./journal-engine.ts";
import { MemoryJournal } from "./memory-journal.ts";

/** Lets a few others go first: within the same turn of the event loop, or in later ones. */
async function pause(random: Random): Promise<void> {
  const turns = random.int(4);
  for (let turn = 0; turn < turns; turn += 1) await (random.chance(0.6) ? undefined : setImmediate());
}

/** A journal whose writes take any time, and may fail; those of a run keep their order. */
class SlowJournal extends MemoryJournal<unknown, unknown> {
  readonly #random: Random;
  #failing: number;
  #last: Promise<unknown> = Promise.resolve();
  /** The values that are stored as sent. */
  readonly stored: unknown[] = [];

  constructor(random: Random, failing = 0) {
    super();
    this.#random = random;
    this.#failing = failing;
  }

  /** This journal, on a disk that works again. */
  get healed(): this {
    this.#failing = 0;
    return this;
  }

  override async load(run: string) {
    await pause(this.#random);
    return super.load(run);
  }

  override append(run: string, name: string, value: unknown): Promise<void> {
    return this.#write(async () => {
      await super.append(run, name, value);
      if (name.startsWith("sent/")) this.stored.push(value);
    });
  }

  override cancel(run: string): Promise<void> {
    return this.#write(() => super.cancel(run));
  }

  override end(run: string, end: EngineEnd<unknown>): Promise<void> {
    return this.#write(() => super.end(run, end));
  }

  override reopen(run: string, name: string, value: unknown): Promise<void> {
    return this.#write(async () => {
      await super.reopen(run, name, value);
      this.stored.push(value);
    });
  }

  #write(write: () => Promise<void>): Promise<void> {
    const fails = this.#random.chance(this.#failing);
    const writing = this.#last.then(async () => {
      await pause(this.#random);
      if (fails) throw new Error("the disk is gone");
      await write();
    });
    this.#last = writing.catch(() => undefined);
    return writing.finally(() => pause(this.#random));
  }
}

/** Receives all there is, also while it looks elsewhere, and ends when there is no more; counts what is under way. */
function collecting(random: Random): { orchestrate: Orchestration<unknown, unknown>; most: () => number } {
  let underWay = 0;
  let most = 0;
  return {
    most: () => most,
    orchestrate: async (_, { receive, hasReceived, available, step, signal }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      const values: unknown[] = [];
      // As a scheduler does, it is woken by what arrives, and leaves that behind when it ends.
      if (random.chance(0.5)) void available("value").then(() => pause(random));
      await pause(random);
      while (!signal.aborted && hasReceived("value")) {
        values.push(await receive("value"));
        await step(`after/${values.length}`, () => pause(random));
      }
      await pause(random);
      underWay -= 1;
      return values;
    },
  };
}

type Engine = RunEngine<unknown, unknown>;

async function attempt<Value>(random: Random, act: () => Promise<Value>): Promise<Value | undefined> {
  for (let wait = random.int(12); wait > 0; wait -= 1) await pause(random);
  return act().catch(() => undefined);
}

/** Sends values at any moment; returns those that were taken. */
function sends(random: Random, engine: Engine): readonly Promise<number | undefined>[] {
  return Array.from({ length: 1 + random.int(8) }, async (_, value) =>
    (await attempt(random, () => engine.send("run", "value", value, { reopen: true }))) ? value : undefined,
  );
}

const taken = async (sending: readonly Promise<number | undefined>[]) =>
  (await Promise.all(sending)).filter((value) => value !== undefined);

describe("A run to which something is sent in any moment", () => {
  const seeds = Array.from({ length: 400 }, (_, seed) => seed);

  test("receives all that was taken, once and in the order in which it was stored", async () => {
    for (const seed of seeds) {
      const random = seededRandom(seed);
      const journal = new SlowJournal(random);
      const { orchestrate, most } = collecting(random);
      const engine = new JournalEngine({ orchestrate, journal });
      const sending = sends(random, engine);
      const [first] = await Promise.all([taken(sending), attempt(random, () => engine.start("run", null))]);
      const sendingLate = sends(random, engine);
      const late = await taken(sendingLate);
      expect(late, `seed ${seed}`).toHaveLength(sendingLate.length);
      const result = await engine.ended("run");
      expect(result, `seed ${seed}`).toEqual(journal.stored);
      expect(journal.stored.toSorted(), `seed ${seed}`).toEqual([...first, ...late].toSorted());
      expect(await engine.find("run"), `seed ${seed}`).toEqual({ state: "ended", result });
      expect(most(), `seed ${seed}`).toBe(1);
      await engine.close();
    }
  });

  test("and that is canceled, is canceled once and for all", async () => {
    for (const seed of seeds) {
      const random = seededRandom(seed);
      const journal = new SlowJournal(random);
      const { orchestrate, most } = collecting(random);
      const engine = new JournalEngine({ orchestrate, journal });
      await engine.start("run", null);
      const sending = sends(random, engine);
      const canceled = await attempt(random, () => engine.cancel("run"));
      const accepted = await taken(sending);
      await engine.ended("run").catch(() => undefined);
      if (canceled) {
        expect(await engine.send("run", "value", "late", { reopen: true }), `seed ${seed}`).toBe(false);
        expect(await engine.cancel("run"), `seed ${seed}`).toBe(false);
      } else expect(await engine.ended("run"), `seed ${seed}`).toHaveLength(accepted.length);
      expect(await engine.find("run"), `seed ${seed}`).toMatchObject({ state: "ended" });
      expect(most(), `seed ${seed}`).toBe(1);
      await engine.close();
    }
  });

  test("continues in the next engine with all that was taken, where its journal fails in any moment", async () => {
    for (const seed of seeds) {
      const random = seededRandom(seed);
      const journal = new SlowJournal(random, 0.05);
      const engine = new JournalEngine({ orchestrate: collecting(random).orchestrate, journal });
      await engine.start("run", null);
      const accepted = await taken(sends(random, engine));
      await engine.ended("run").catch(() => undefined);
      await engine.close();
      const next = new JournalEngine({
        orchestrate: collecting(random).orchestrate,
        journal: journal.healed,
      });
      await next.resume();
      const result = await next.ended("run");
      expect(result, `seed ${seed}`).toEqual(journal.stored);
      expect(journal.stored, `seed ${seed}`).toEqual(expect.arrayContaining([...accepted]));
      await next.close();
    }
  });
});
