import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graphOf } from "../test/graphs.ts";
import { MortalJournal } from "../test/mortal-journal.ts";
import type { Graph } from "./graph.ts";
import { JournalEngine } from "./journal-engine.ts";
import { runGraph, sendControl } from "./schedule.ts";
import type { Attempt, RunResult, SchedulePorts } from "./schedule-ports.ts";

interface World {
  /** What each action comes to, attempt by attempt; the last counts for all later ones. */
  readonly plan: Readonly<Record<string, readonly Attempt["kind"][]>>;
  readonly parallel?: number;
  readonly writes?: Readonly<Record<string, readonly string[]>>;
}

function worldOf({ plan, parallel = 4, writes = {} }: World) {
  const log: string[] = [];
  const effects = new Map<string, number>();
  let running = 0;
  let most = 0;
  const ports: SchedulePorts = {
    parallel,
    writesOf: ({ id }) => writes[id] ?? [],
    attempt: async ({ action: { id }, key, signal }) => {
      log.push(`start ${id}`);
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (!effects.has(key)) effects.set(key, 0);
      effects.set(key, (effects.get(key) ?? 0) + 1);
      const number = Number(key.split("/").at(-1));
      const kinds = plan[id] ?? ["completed"];
      const kind = kinds[Math.min(number, kinds.length) - 1] ?? "completed";
      log.push(`end ${id} ${kind}`);
      if (signal.aborted) return { kind: "failed", reason: "aborted" };
      return kind === "completed"
        ? { kind, output: { id, number }, summary: `${id} done`, usage: { tokens: 10, cost: 1 } }
        : { kind, reason: `${id} was to be ${kind}` };
    },
  };
  return { ports, log, effects, most: () => most };
}

async function run(graph: Graph, world: World): Promise<RunResult & { log: string[] }> {
  const { ports, log } = worldOf(world);
  const engine = new JournalEngine<Graph, RunResult>({
    orchestrate: (input, scope) => runGraph(input, scope, ports),
  });
  await engine.start("run", graph);
  return { ...(await engine.ended("run")), log };
}

const statuses = ({ actions }: RunResult) =>
  Object.fromEntries(actions.map(({ id, status }) => [id, status]));

describe("A graph", () => {
  it("without actions is completed", async () => {
    expect(await run(graphOf([]), { plan: {} })).toMatchObject({ status: "completed", actions: [] });
  });

  it("runs actions after those they depend on, and independent ones at the same time", async () => {
    const graph = graphOf([{ id: "c", depends_on: ["a", "b"] }, { id: "a" }, { id: "b" }]);
    const { log, status } = await run(graph, { plan: {} });
    expect(status).toBe("completed");
    expect(log).toEqual([
      "start a",
      "start b",
      "end a completed",
      "end b completed",
      "start c",
      "end c completed",
    ]);
  });

  it("runs no more actions at once than the limit, the declaration's or the runtime's", async () => {
    const actions = Array.from({ length: 20 }, (_, index) => ({ id: `a${index}` }));
    for (const [parallel, budget, expected] of [
      [3, {}, 3],
      [10, { parallel: 2 }, 2],
      [2, { parallel: 9 }, 2],
    ] as const) {
      const { ports, most } = worldOf({ plan: {}, parallel });
      const engine = new JournalEngine<Graph, RunResult>({
        orchestrate: (input, scope) => runGraph(input, scope, ports),
      });
      await engine.start("run", graphOf(actions, { budget }));
      expect((await engine.ended("run")).status).toBe("completed");
      expect(most()).toBe(expected);
    }
  });

  it("runs one at a time those that write the same resource", async () => {
    const writes = { a: ["src"], b: ["src/x"], c: ["docs"], d: ["*"] };
    const { log } = await run(graphOf(["a", "b", "c", "d"].map((id) => ({ id }))), { plan: {}, writes });
    expect(log).toEqual([
      ...["start a", "start c", "end a completed", "start b", "end c completed", "end b completed"],
      ...["start d", "end d completed"],
    ]);
  });
});

describe("An action that fails", () => {
  const actions = (failure_policy?: unknown) => [
    { id: "a", ...(failure_policy !== undefined && { failure_policy }) },
    { id: "b", depends_on: ["a"] },
    { id: "c" },
    { id: "d", when: [{ action: "a", status: "failed" }] },
  ];

  it("by default fails the run: what depends on it is canceled, independent branches finish", async () => {
    const result = await run(graphOf(actions()), { plan: { a: ["failed"] } });
    expect(result.status).toBe("failed");
    expect(statuses(result)).toEqual({ a: "failed", b: "canceled", c: "completed", d: "completed" });
    expect(result.actions[1]?.reason).toBe("it depends on a, which is failed");
  });

  it("with `continue` lets what depends on it run, and the run is completed", async () => {
    const result = await run(graphOf(actions("continue")), { plan: { a: ["failed"] } });
    expect(result.status).toBe("completed");
    expect(statuses(result)).toEqual({ a: "failed", b: "completed", c: "completed", d: "completed" });
  });

  it("with `retry` is tried three times, or as often as it says", async () => {
    const plan = { a: ["failed", "failed", "completed"] as const };
    const result = await run(graphOf(actions("retry")), { plan });
    expect(result.actions[0]).toMatchObject({ status: "completed", attempts: 3 });
    const twice = await run(graphOf(actions({ on_failure: "retry", max_attempts: 2 })), { plan });
    expect(twice.actions[0]).toMatchObject({ status: "failed", attempts: 2 });
  });

  it.each([
    ["retry", { a: "completed", b: "completed", c: "completed", d: "canceled" }, "completed"],
    ["continue", { a: "failed", b: "completed", c: "completed", d: "completed" }, "completed"],
    ["abort", { a: "failed", b: "canceled", c: "completed", d: "completed" }, "failed"],
  ] as const)(
    "with `ask_model` blocks the run until it is decided: %s",
    async (decision, expected, status) => {
      const { ports, log } = worldOf({ plan: { a: ["failed", "completed"] } });
      const changes: unknown[] = [];
      const engine = new JournalEngine<Graph, RunResult>({
        orchestrate: (input, scope) =>
          runGraph(input, scope, { ...ports, onChange: (change) => changes.push(change) }),
      });
      await engine.start("run", graphOf(actions("ask_model")));
      await expect
        .poll(() => changes)
        .toContainEqual({ run: "blocked", waitsFor: "model", callsModel: true });
      expect(log.filter((line) => line.includes(" b") || line.includes(" d"))).toEqual([]);
      await sendControl(engine, "run", { kind: "decide", action: "a", decision });
      const result = await engine.ended("run");
      expect([statuses(result), result.status]).toEqual([expected, status]);
    },
  );

  it("that was denied is blocked, and so is the run", async () => {
    const result = await run(graphOf(actions("retry")), { plan: { a: ["blocked"] } });
    expect(result).toMatchObject({ status: "blocked", reason: "a: a was to be blocked" });
    expect(statuses(result)).toEqual({ a: "blocked", b: "canceled", c: "completed", d: "canceled" });
  });
});

describe("A loop", () => {
  it.each([
    [{ max_iterations: 3 }, ["completed"], 3],
    [{ max_iterations: 9, until: { field: "number", equals: 4 } }, ["completed"], 4],
    [{ max_iterations: 2, until: { field: "number", equals: 4 } }, ["completed"], 2],
    [{ max_iterations: 9, until: { status: "completed" } }, ["failed", "failed", "completed"], 3],
    [{ max_iterations: 9 }, ["completed", "failed"], 2],
  ] as const)("%j ends by its condition or its bound", async (loop, plan, iterations) => {
    const result = await run(graphOf([{ id: "a", loop }]), { plan: { a: plan } });
    expect(result.actions[0]?.iterations).toBe(iterations);
  });
});

describe("A budget", () => {
  it.each([{ tokens: 20 }, { cost: 2 }])(
    "of %j starts nothing once it is used up, and the run fails",
    async (budget) => {
      const actions = Array.from({ length: 5 }, (_, index) => ({ id: `a${index}` }));
      const result = await run(graphOf(actions, { budget }), { plan: {}, parallel: 1 });
      expect(result.status).toBe("failed");
      expect(result.actions.map(({ status }) => status)).toEqual([
        "completed",
        "completed",
        "canceled",
        "canceled",
        "canceled",
      ]);
    },
  );
});

/** A random graph with failures, conditions and loops, and what its actions come to. */
const randomRun = fc
  .record({
    size: fc.integer({ min: 0, max: 40 }),
    seeds: fc.array(fc.nat(), { minLength: 200, maxLength: 200 }),
    parallel: fc.integer({ min: 1, max: 8 }),
    budget: fc.option(fc.record({ tokens: fc.integer({ min: 0, max: 300 }) }), { nil: undefined }),
  })
  .map(({ size, seeds, parallel, budget }) => {
    const pick = (index: number, most: number) => (seeds[index % seeds.length] ?? 0) % most;
    const plan: Record<string, Attempt["kind"][]> = {};
    const actions = Array.from({ length: size }, (_, index) => {
      const id = `a${index}`;
      const before = Array.from({ length: pick(index * 5, 4) }, (__, nth) =>
        pick(index * 7 + nth, Math.max(index, 1)),
      );
      const depends_on = index === 0 ? [] : [...new Set(before.map((one) => `a${one}`))];
      const kinds = ["completed", "completed", "completed", "failed", "blocked"] as const;
      plan[id] = [kinds[pick(index * 11, 5)] ?? "completed", kinds[pick(index * 13, 4)] ?? "completed"];
      const policies = ["abort", "continue", "retry"] as const;
      const on = index > 0 && pick(index * 17, 6) === 0 ? `a${pick(index * 19, index)}` : undefined;
      return {
        ...{ id, depends_on, failure_policy: policies[pick(index * 23, 3)] },
        ...(on !== undefined && { when: [{ action: on, status: pick(index, 2) ? "completed" : "failed" }] }),
        ...(pick(index * 29, 5) === 0 && { loop: { max_iterations: 1 + pick(index, 3) } }),
      };
    });
    return { graph: graphOf(actions, budget ? { budget } : {}), world: { plan, parallel } };
  });

describe("Any graph", () => {
  it("starts nothing before what it depends on, accounts for every action, and keeps to the limit", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async ({ graph, world }) => {
        const { ports, log, most } = worldOf(world);
        const engine = new JournalEngine<Graph, RunResult>({
          orchestrate: (input, scope) => runGraph(input, scope, ports),
        });
        await engine.start("run", graph);
        const result = await engine.ended("run");
        expect(most()).toBeLessThanOrEqual(world.parallel);
        expect(result.actions.map(({ id }) => id)).toEqual(graph.actions.map(({ id }) => id));
        const over = new Set(["completed", "failed", "canceled", "blocked"]);
        for (const { status } of result.actions) expect(over).toContain(status);
        for (const { id, dependsOn } of graph.actions) {
          const started = log.indexOf(`start ${id}`);
          if (started < 0) continue;
          for (const other of dependsOn)
            expect(log.findLastIndex((line) => line.startsWith(`end ${other} `))).toBeLessThan(started);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("comes to the same end after a kill at any point, with every effect done once by its key", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, fc.array(fc.nat(60), { maxLength: 3 }), async ({ graph, world }, kills) => {
        const through = worldOf(world);
        const whole = new JournalEngine<Graph, RunResult>({
          orchestrate: (input, scope) => runGraph(input, scope, through.ports),
        });
        await whole.start("run", graph);
        const expected = await whole.ended("run");
        const journal = new MortalJournal<Graph, RunResult>();
        const { ports, effects } = worldOf(world);
        const orchestrate = (input: Graph, scope: Parameters<typeof runGraph>[1]) =>
          runGraph(input, scope, ports);
        for (const after of [...kills, Number.POSITIVE_INFINITY]) {
          journal.left = after;
          const engine = new JournalEngine<Graph, RunResult>({ orchestrate, journal });
          await (after === kills[0] || kills.length === 0 ? engine.start("run", graph) : engine.resume());
          if ((await journal.load("run"))?.end) break;
          if (after === Number.POSITIVE_INFINITY) await engine.ended("run");
          else
            for (let turn = 0; turn < 200 && journal.left > 0; turn += 1)
              await new Promise((resolve) => setImmediate(resolve));
          await engine.close();
        }
        const end = (await journal.load("run"))?.end;
        const result = end?.state === "ended" ? end.result : undefined;
        // With a budget, which actions it is enough for depends on who is first.
        if (graph.budget.tokens === undefined) expect(result).toEqual(expected);
        else expect(result?.actions.length).toBe(expected.actions.length);
        for (const { id, status, attempts } of result?.actions ?? [])
          if (status === "completed") expect([...effects.keys()]).toContain(`run/${id}/${attempts}`);
      }),
      { numRuns: 60 },
    );
  });
});
