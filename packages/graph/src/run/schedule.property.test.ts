import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../scripts/torture/random.ts";
import { graphOf } from "../../test/graphs.ts";
import { MortalJournal } from "../../test/mortal-journal.ts";
import { type RandomRun, randomRun } from "../../test/random-run.ts";
import type { Graph } from "../declaration/graph.ts";
import type { RunScope } from "../engine/engine.ts";
import { JournalEngine, type RunJournal } from "../engine/journal-engine.ts";
import { type ActionState, hasEnded } from "./progress.ts";
import { runGraph } from "./schedule.ts";
import { type RunChange, type RunResult, type SchedulePorts, sendControl } from "./schedule-ports.ts";

interface Begun {
  readonly id: string;
  readonly key: string;
  /** Which of all attempts at its action it is. */
  readonly number: number;
  readonly iteration: number;
  /** What was used before it. */
  readonly spent: { readonly tokens: number; readonly cost: number };
}

/** Makes attempts as a random run has them, and checks while it does that no limit is broken. */
class World {
  readonly run: RandomRun;
  /** The attempts in the order of their start. */
  readonly begun: Begun[] = [];
  readonly faults: string[] = [];
  /** The latest graph and states. */
  graph: Graph;
  readonly states = new Map<string, ActionState>();
  isBlocked = false;
  readonly #running = new Map<string, readonly string[]>();
  #spent = { tokens: 0, cost: 0 };

  /** What all attempts used. */
  get spent(): { readonly tokens: number; readonly cost: number } {
    return this.#spent;
  }

  constructor(run: RandomRun) {
    this.run = run;
    this.graph = run.graph;
  }

  get ports(): SchedulePorts {
    const { parallel, writes } = this.run;
    return {
      parallel,
      writesOf: ({ id }) => writes.get(id) ?? [],
      onChange: (change) => this.#note(change),
      attempt: async ({ action: { id, dependsOn }, key, signal, iteration, takeShare }) => {
        for (const other of dependsOn)
          if (!hasEnded(this.states.get(other)?.status ?? "pending"))
            this.faults.push(`${id} began before ${other} ended`);
        if (this.#running.size >= parallel) this.faults.push(`${id} is one too many`);
        const own = writes.get(id) ?? [];
        for (const [other, theirs] of this.#running)
          if (own.some((one) => theirs.some((two) => one === "*" || two === "*" || one[0] === two[0])))
            this.faults.push(`${id} and ${other} write the same`);
        this.#running.set(id, own);
        const number = Number(key.split("/").at(-1));
        this.begun.push({ id, key, number, iteration, spent: this.#spent });
        const { attempt: planned, turns } = this.run.attempt(id, number);
        const { tokens = 0, cost = 0 } = planned.usage ?? {};
        const share = await takeShare().catch(() => ({ tokens: 0, cost: 0 }));
        const usage = {
          tokens: Math.min(tokens, share.tokens ?? tokens),
          cost: Math.min(cost, share.cost ?? cost),
        };
        const attempt = { ...planned, usage };
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        this.#running.delete(id);
        this.#spent = { tokens: this.#spent.tokens + usage.tokens, cost: this.#spent.cost + usage.cost };
        return signal.aborted && attempt.kind !== "completed"
          ? { kind: "failed", reason: "aborted", usage }
          : attempt;
      },
    };
  }

  #note(change: RunChange): void {
    if ("graph" in change) this.graph = change.graph;
    else if ("action" in change) this.states.set(change.action.id, change.action);
    else this.isBlocked = change.callsModel;
  }
}

function engineOf(world: World, journal?: RunJournal<Graph, RunResult>): JournalEngine<Graph, RunResult> {
  const orchestrate = (input: Graph, scope: RunScope) => runGraph(input, scope, world.ports);
  return new JournalEngine({ orchestrate, journal });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Waits for the end of a run, deciding about what failed; at most so many turns of the event loop. */
async function conduct(
  engine: JournalEngine<Graph, RunResult>,
  world: World,
  {
    each,
    sent = new Set<string>(),
    most = 100_000,
  }: { each?: (turn: number) => Promise<void>; sent?: Set<string>; most?: number } = {},
): Promise<RunResult | undefined> {
  let result: RunResult | undefined;
  void engine.ended("run").then(
    (end) => (result = end),
    () => undefined,
  );
  for (let turns = 0; turns < most && result === undefined; turns += 1) {
    await turn();
    await each?.(turns);
    if (!world.isBlocked) continue;
    world.isBlocked = false;
    for (const { id, failure } of world.graph.actions) {
      const { status, attempts = 0 } = world.states.get(id) ?? {};
      const name = `${id}/${attempts}`;
      if (failure.on_failure !== "ask_model" || status !== "failed" || sent.has(name)) continue;
      const sending = sendControl(engine, "run", world.run.decide(id, attempts)).then(
        (isSent) => isSent && sent.add(name),
      );
      await Promise.race([sending, turn().then(turn).then(turn)]);
    }
  }
  return result;
}

/** The attempts that followed a failed one of the same iteration by policy, and not by a decision. */
function retriesOf(begun: readonly Begun[], decided: ReadonlySet<string>): readonly Begun[] {
  return begun.filter(({ id, number, iteration }) => {
    const before = begun.find((one) => one.id === id && one.number === number - 1);
    return before?.iteration === iteration && !decided.has(`${id}/${number - 1}`);
  });
}

/** A result without what depends on which of two obstacles was there first. */
function withoutReasons(result: RunResult | undefined): unknown {
  return {
    ...result,
    actions: result?.actions.map((state) => (state.status === "canceled" ? { ...state, reason: "" } : state)),
  };
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const size = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 20, max: 300 }));

describe("Any graph of up to 300 actions", () => {
  it("begins nothing before what it depends on nor twice, keeps to its limits, and accounts for every action", async () => {
    await fc.assert(
      fc.asyncProperty(seeds, size, fc.boolean(), async (seed, actions, hasBudget) => {
        const run = randomRun(seed, { actions, hasBudget });
        const world = new World(run);
        const engine = engineOf(world);
        await engine.start("run", run.graph);
        const sent = new Set<string>();
        const result = await conduct(engine, world, { sent });
        expect(world.faults).toEqual([]);
        expect(result?.actions.map(({ id }) => id)).toEqual(run.graph.actions.map(({ id }) => id));
        expect(result?.actions.filter(({ status }) => !hasEnded(status))).toEqual([]);
        expect(new Set(world.begun.map(({ key }) => key)).size).toBe(world.begun.length);
        const none = Number.POSITIVE_INFINITY;
        const { tokens = none, cost = none, calls = none, retries = none } = run.graph.budget;
        expect(world.begun.filter(({ spent }) => spent.tokens >= tokens && tokens > 0)).toEqual([]);
        expect(world.begun.filter(({ spent }) => spent.cost >= cost * (1 + 1e-9) && cost > 0)).toEqual([]);
        expect(world.begun.length).toBeLessThanOrEqual(calls);
        expect(retriesOf(world.begun, sent).length).toBeLessThanOrEqual(retries);
        // Also those that ran at the same time together.
        expect(world.spent.tokens).toBeLessThanOrEqual(tokens);
        expect(world.spent.cost).toBeLessThanOrEqual(cost * (1 + 1e-9));
        for (const { id, budget } of run.graph.actions) {
          const { usage = { tokens: 0 } } = world.states.get(id) ?? {};
          expect(usage.tokens).toBeLessThanOrEqual(budget?.tokens ?? none);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("begins nothing after a cancel, of the run or of some actions", async () => {
    await fc.assert(
      fc.asyncProperty(seeds, size, fc.nat(200), async (seed, actions, at) => {
        const run = randomRun(seed, { actions });
        const random = seededRandom(seed);
        const world = new World(run);
        const engine = engineOf(world);
        await engine.start("run", run.graph);
        let isCanceled = false;
        let begun = 0;
        const named = run.graph.actions.filter(() => random.chance(0.1)).map(({ id }) => id);
        let canceledAt = Number.POSITIVE_INFINITY;
        // What was canceled is not decided to be tried again.
        const decided = new Set<string>();
        const final = new Set(
          named.flatMap((id) => Array.from({ length: 20 }, (_, tried) => `${id}/${tried}`)),
        );
        const result = await conduct(engine, world, {
          sent: decided,
          each: async (turns) => {
            if (turns === Math.floor(at / 2) && named.length > 0) {
              await sendControl(engine, "run", { kind: "cancel", actions: named, reason: "not wanted" });
              await turn();
              canceledAt = world.begun.length;
              for (const name of final) decided.add(name);
            }
            if (turns !== at) return;
            isCanceled = await engine.cancel("run");
            begun = world.begun.length;
          },
        });
        if (isCanceled) expect(world.begun.length).toBe(begun);
        if (isCanceled && result?.status !== "canceled")
          expect(result?.actions.every(({ status }) => hasEnded(status))).toBe(true);
        expect(world.begun.slice(canceledAt).filter(({ id }) => named.includes(id))).toEqual([]);
        expect(result?.actions.length).toBe(actions);
        expect(world.faults).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it("may be revised while it runs, and after it failed: what is completed stays, the rest is replaced", async () => {
    await fc.assert(
      fc.asyncProperty(seeds, fc.integer({ min: 1, max: 60 }), fc.nat(100), async (seed, actions, at) => {
        const run = randomRun(seed, { actions });
        const world = new World(run);
        const engine = engineOf(world);
        const next = graphOf(
          Array.from({ length: 5 }, (_, index) => ({
            id: `a${index * 9}`,
            depends_on: index === 0 ? [] : [`a${(index - 1) * 9}`],
          })),
        );
        await engine.start("run", run.graph);
        const revise = () => sendControl(engine, "run", { kind: "revise", graph: next });
        let before: RunResult | undefined = await conduct(engine, world, {
          each: async (turns) => {
            if (turns === at) await revise();
          },
        });
        const isLate = before !== undefined && before.status !== "completed" && world.graph === run.graph;
        if (isLate) {
          const completed = before?.actions.filter(({ status }) => status === "completed") ?? [];
          expect(await revise()).toBe(true);
          before = await conduct(engine, world);
          for (const state of completed) expect(before?.actions).toContainEqual(state);
        }
        expect(before?.actions.map(({ id }) => id)).toEqual(world.graph.actions.map(({ id }) => id));
        expect(before?.actions.filter(({ status }) => !hasEnded(status))).toEqual([]);
        expect(new Set(world.begun.map(({ key }) => key)).size).toBe(world.begun.length);
      }),
      { numRuns: 30 },
    );
  });

  it("comes to the same end after kills at any point, with every effect that counts done under its key", async () => {
    await fc.assert(
      fc.asyncProperty(
        seeds,
        fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 30, max: 120 })),
        fc.array(fc.nat(100), { maxLength: 4 }),
        async (seed, actions, kills) => {
          const run = randomRun(seed, { actions });
          const whole = new World(run);
          const through = engineOf(whole);
          await through.start("run", run.graph);
          const expected = await conduct(through, whole);
          const journal = new MortalJournal<Graph, RunResult>();
          const sent = new Set<string>();
          let result: RunResult | undefined;
          const keys = new Map<string, number>();
          for (const after of [...kills, Number.POSITIVE_INFINITY]) {
            journal.left = after;
            const world = new World(run);
            const engine = engineOf(world, journal);
            await engine.start("run", run.graph);
            const most = after === Number.POSITIVE_INFINITY ? 100_000 : 300;
            result = await conduct(engine, world, {
              ...{ sent, most },
              each: async () => {
                if (journal.left <= 0) await engine.close();
              },
            });
            await engine.close();
            for (const { key } of world.begun) keys.set(key, (keys.get(key) ?? 0) + 1);
            const end = (await journal.load("run"))?.end;
            if (end?.state === "ended") {
              result = end.result;
              break;
            }
          }
          expect(withoutReasons(result)).toEqual(withoutReasons(expected));
          for (const { id, status, attempts } of result?.actions ?? [])
            if (status === "completed") expect([...keys.keys()]).toContain(`run/${id}/${attempts}`);
        },
      ),
      { numRuns: 30 },
    );
  });
});
