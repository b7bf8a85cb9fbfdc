import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, it } from "vitest";
import { graphOf } from "../../test/graphs.ts";
import type { Graph } from "../declaration/graph.ts";
import { JournalEngine } from "../engine/journal-engine.ts";
import { runGraph } from "./schedule.ts";
import {
  type Attempt,
  type AttemptRequest,
  type RunChange,
  type RunResult,
  type SchedulePorts,
  sendControl,
} from "./schedule-ports.ts";

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

describe("The id of an action", () => {
  it("may be any name, also one that the scheduler uses itself", async () => {
    const ids = ["event", "deadline", "backoff", "sent", "control", "constructor", "toString", "0", "1"];
    const actions = ids.map((id, index) => ({ id, depends_on: ids.slice(Math.max(index - 1, 0), index) }));
    const result = await run(graphOf(actions, { budget: { seconds: 60 } }), { plan: { sent: ["failed"] } });
    expect(result.actions.map(({ status }) => status)).toEqual([
      ...["completed", "completed", "completed", "failed"],
      ...["canceled", "canceled", "canceled", "canceled", "canceled"],
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
        .toContainEqual({ run: "blocked", waitsFor: "model", callsModel: true, undecided: ["a"] });
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

describe("A condition", () => {
  const ends = { ok: ["completed"], bad: ["failed"], no: ["blocked"] } as const;
  const earlier = [
    ...Object.keys(ends).map((id) => ({ id, failure_policy: "continue" })),
    { id: "late", when: [{ action: "ok", status: "failed" }] },
  ];

  it.each([
    ["ok", "completed"],
    ["bad", "failed"],
    ["no", "blocked"],
    ["late", "canceled"],
  ])(
    "on %s holds if it is %s, and if it is not the action is canceled with the reason",
    async (action, status) => {
      const others = ["completed", "failed", "blocked", "canceled"].filter((one) => one !== status);
      const result = await run(
        graphOf([
          ...earlier,
          { id: "then", when: [{ action, status }] },
          ...others.map((one) => ({ id: `not-${one}`, when: [{ action, status: one }] })),
        ]),
        { plan: ends },
      );
      const [then, ...rest] = result.actions.slice(earlier.length);
      expect(then?.status).toBe("completed");
      for (const one of rest)
        expect(one).toMatchObject({ status: "canceled", reason: expect.stringContaining(action) });
    },
  );

  it("on several actions holds if all do", async () => {
    const when = (...wanted: readonly string[]) => [
      { action: "ok", status: wanted[0] },
      { action: "bad", status: wanted[1] },
    ];
    const result = await run(
      graphOf([
        ...earlier,
        { id: "both", when: when("completed", "failed") },
        { id: "one", when: when("completed", "completed") },
      ]),
      { plan: ends },
    );
    expect(statuses(result)).toMatchObject({ both: "completed", one: "canceled" });
  });

  it("on a status that names what an action depends on takes the place of being completed", async () => {
    const result = await run(
      graphOf([
        { id: "a" },
        { id: "b", depends_on: ["a"], when: [{ action: "a", status: "failed" }] },
        { id: "c", depends_on: ["a"] },
      ]),
      { plan: { a: ["failed"] } },
    );
    expect(statuses(result)).toEqual({ a: "failed", b: "completed", c: "canceled" });
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

/** A run whose attempts end when the test says so. */
function stage(graph: Graph, { parallel = 4, clock = new ManualClock() } = {}) {
  const attempts = new Map<string, { request: AttemptRequest; end: (attempt: Attempt) => void }>();
  const changes: RunChange[] = [];
  const engine = new JournalEngine<Graph, RunResult>({
    clock,
    orchestrate: (input, scope) =>
      runGraph(input, scope, {
        parallel,
        writesOf: () => [],
        onChange: (change) => changes.push(change),
        attempt: (request) =>
          new Promise((resolve) => {
            attempts.set(request.key.slice("run/".length), { request, end: resolve });
            request.signal.addEventListener("abort", () => resolve({ kind: "failed", reason: "aborted" }));
          }),
      }),
  });
  const attempt = async (key: string) => {
    await expect.poll(() => [...attempts.keys()]).toContain(key);
    return attempts.get(key)!;
  };
  return {
    ...{ engine, attempts, changes, clock, attempt },
    start: () => engine.start("run", graph),
    end: async (key: string, kind: Attempt["kind"], usage?: { tokens: number }) => {
      const { end } = await attempt(key);
      end(kind === "completed" ? { kind, output: key, summary: key, usage } : { kind, reason: "no", usage });
    },
    standing: () => changes.findLast((change) => "run" in change),
  };
}

describe("A run that has ended", () => {
  const actions = [{ id: "a" }, { id: "b", depends_on: ["a"] }];

  it.each([
    ["failed", "retry", "completed", { a: "completed", b: "completed" }],
    ["failed", "continue", "completed", { a: "failed", b: "completed" }],
    ["failed", "abort", "failed", { a: "failed", b: "canceled" }],
    ["blocked", "retry", "completed", { a: "completed", b: "completed" }],
    ["blocked", "continue", "completed", { a: "blocked", b: "completed" }],
  ] as const)("as %s is reopened by a decision to %s", async (first, decision, status, expected) => {
    const { engine, start, end } = stage(graphOf(actions));
    await start();
    await end("a/1", first);
    expect(await engine.ended("run")).toMatchObject({ status: first });
    expect(await sendControl(engine, "run", { kind: "decide", action: "a", decision })).toBe(true);
    if (decision === "retry") await end("a/2", "completed");
    if (decision !== "abort") await end("b/1", "completed");
    const result = await engine.ended("run");
    expect([result.status, statuses(result)]).toEqual([status, expected]);
  });

  it("is reopened by a revision, which replaces what is not completed", async () => {
    const { engine, start, end, changes } = stage(
      graphOf([...actions, { id: "c" }], { persist: true, title: "Old", budget: { tokens: 100 } }),
    );
    await start();
    await end("a/1", "failed");
    await end("c/1", "completed");
    expect(await engine.ended("run")).toMatchObject({ status: "failed" });
    const graph = graphOf([{ id: "d" }, { id: "a", depends_on: ["d"] }]);
    await sendControl(engine, "run", { kind: "revise", graph });
    await end("d/1", "completed");
    await end("a/2", "completed");
    const result = await engine.ended("run");
    expect([result.status, statuses(result)]).toEqual([
      "completed",
      { b: "canceled", c: "completed", d: "completed", a: "completed" },
    ]);
    expect(result.actions[0]?.reason).toBe("a revision replaced it");
    const revised = changes.findLast((change) => "graph" in change);
    expect(revised?.graph.actions.map(({ id }) => id)).toEqual(["b", "c", "d", "a"]);
    expect(revised?.graph).toMatchObject({ isDurable: true, title: "Old", budget: { tokens: 100 } });
  });

  it("takes no decision about an attempt that is not its last", async () => {
    const { engine, start, end, standing } = stage(graphOf([{ id: "a", failure_policy: "ask_model" }]));
    await start();
    const asked = () => expect.poll(standing).toMatchObject({ waitsFor: "model" });
    await end("a/1", "failed");
    await asked();
    const decide = (attempts: number, decision: "retry" | "continue" | "abort") =>
      sendControl(engine, "run", { kind: "decide", action: "a", decision, attempts });
    await decide(1, "retry");
    await end("a/2", "failed");
    await asked();
    await decide(1, "continue");
    await decide(2, "abort");
    expect(await engine.ended("run")).toMatchObject({ status: "failed", actions: [{ attempts: 2 }] });
  });

  it("is not reopened when it was canceled", async () => {
    const { engine, start, attempt } = stage(graphOf(actions));
    await start();
    await attempt("a/1");
    await engine.cancel("run");
    expect(await engine.ended("run")).toMatchObject({ status: "canceled" });
    expect(await sendControl(engine, "run", { kind: "decide", action: "a", decision: "retry" })).toBe(false);
  });
});

describe("A run that waits", () => {
  it("waits once nothing else runs, and calls the model only if it wants to know", async () => {
    for (const while_waiting of ["wait", "call_model"]) {
      const graph = graphOf([{ id: "a" }, { id: "b" }], { response_policy: { while_waiting } });
      const { engine, start, attempt, end, standing, changes } = stage(graph);
      await start();
      const { request } = await attempt("a/1");
      request.waits("permission");
      expect(changes.at(-1)).toMatchObject({ action: { id: "a", status: "waiting" } });
      expect(standing()).toMatchObject({ run: "running" });
      await end("b/1", "completed");
      const callsModel = while_waiting === "call_model";
      await expect.poll(standing).toEqual({ run: "waiting", waitsFor: "permission", callsModel });
      request.waits(undefined);
      await expect.poll(standing).toEqual({ run: "running", callsModel: false });
      await end("a/1", "completed");
      expect(await engine.ended("run")).toMatchObject({ status: "completed" });
    }
  });

  it("calls the model for a decision while a person has yet to answer", async () => {
    const graph = graphOf([{ id: "a" }, { id: "b", failure_policy: "ask_model" }]);
    const { start, attempt, end, standing } = stage(graph);
    await start();
    (await attempt("a/1")).request.waits("input");
    await end("b/1", "failed");
    const blocked = { run: "blocked", waitsFor: "model", callsModel: true, undecided: ["b"] };
    await expect.poll(standing).toEqual(blocked);
  });

  it("names the actions that the model decides about, and no other that failed", async () => {
    const asks = { failure_policy: "ask_model" };
    const graph = graphOf([{ id: "a" }, { id: "b", ...asks }, { id: "c", ...asks }]);
    const { engine, start, end, standing } = stage(graph);
    await start();
    for (const attempt of ["a/1", "b/1", "c/1"]) await end(attempt, "failed");
    await expect.poll(standing).toMatchObject({ callsModel: true, undecided: ["b", "c"] });
    await sendControl(engine, "run", { kind: "decide", action: "b", decision: "abort" });
    // The model that decided is asked by how the run stands after it.
    expect(standing()).toMatchObject({ callsModel: true, undecided: ["c"] });
    await sendControl(engine, "run", { kind: "decide", action: "c", decision: "abort" });
    expect(await engine.ended("run")).toMatchObject({ status: "failed" });
  });
});

describe("A cancel", () => {
  it("ends an action that runs, and lets one finish that is to: without another attempt or iteration", async () => {
    const finish = { cancellation_policy: { running: "finish" } };
    const { engine, start, attempt, end } = stage(
      graphOf([
        { id: "a" },
        { id: "b", ...finish, failure_policy: "retry" },
        { id: "c", ...finish },
        { id: "d", ...finish, loop: { max_iterations: 3 } },
        { id: "e", depends_on: ["a"] },
      ]),
    );
    await start();
    await attempt("d/1");
    await sendControl(engine, "run", { kind: "cancel", actions: ["a", "b", "c", "d", "e"], reason: "stop" });
    await end("b/1", "failed");
    await end("c/1", "completed");
    await end("d/1", "completed");
    const result = await engine.ended("run");
    expect(statuses(result)).toEqual({
      a: "canceled",
      b: "failed",
      c: "completed",
      d: "canceled",
      e: "canceled",
    });
    expect(result.actions.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 0]);
  });
});

describe("A cancel of the run", () => {
  it("does not wait for an action that waits for a person, though it is to finish", async () => {
    const { engine, start, attempt } = stage(
      graphOf([{ id: "a", cancellation_policy: { running: "finish" } }]),
    );
    await start();
    (await attempt("a/1")).request.waits("permission");
    expect(await engine.cancel("run")).toBe(true);
    expect(await engine.ended("run")).toMatchObject({
      status: "canceled",
      actions: [{ status: "canceled" }],
    });
  });
});

describe("Time", () => {
  it("ends a run that has used its seconds, and what runs in it", async () => {
    const { engine, start, attempt, clock } = stage(
      graphOf(
        [
          { id: "a", cancellation_policy: { running: "finish" } },
          { id: "b", depends_on: ["a"] },
        ],
        {
          budget: { seconds: 5 },
        },
      ),
    );
    await start();
    await attempt("a/1");
    await expect.poll(() => clock.waiting).toBe(1);
    clock.advance(5_000);
    const result = await engine.ended("run");
    expect(result).toMatchObject({ status: "failed", reason: "the run has used its 5 seconds" });
    expect(statuses(result)).toEqual({ a: "canceled", b: "canceled" });
  });

  it("fails an action that has used its seconds, over all its attempts", async () => {
    const { engine, start, attempt, end, clock } = stage(
      graphOf([{ id: "a", budget: { seconds: 5 }, failure_policy: "retry" }]),
    );
    await start();
    await attempt("a/1");
    await expect.poll(() => clock.waiting).toBe(1);
    clock.advance(3_000);
    await end("a/1", "failed");
    await attempt("a/2");
    clock.advance(2_000);
    const result = await engine.ended("run");
    expect(result.actions[0]).toMatchObject({
      status: "failed",
      reason: "it has used its 5 seconds",
      attempts: 2,
    });
  });

  it("passes between the attempts of an action, twice as much each time", async () => {
    const { engine, start, end, clock } = stage(
      graphOf([{ id: "a", failure_policy: { on_failure: "retry", backoff_ms: 100 } }]),
    );
    await start();
    for (const [number, pause] of [
      [1, 100],
      [2, 200],
    ]) {
      await end(`a/${number}`, "failed");
      await expect.poll(() => clock.waiting).toBe(1);
      clock.advance((pause ?? 0) - 1);
      await new Promise((resolve) => setImmediate(resolve));
      expect(clock.waiting).toBe(1);
      clock.advance(1);
    }
    await end("a/3", "completed");
    expect(await engine.ended("run")).toMatchObject({ status: "completed", actions: [{ attempts: 3 }] });
  });
});

describe("An action that failed", () => {
  it.each([
    ["may have been done all the same", {}, { isUnknown: true }, 1],
    ["is declared to be done once", { idempotency: "once" }, {}, 1],
    ["neither", {}, {}, 3],
  ] as const)("is tried again by its policy unless it %s", async (_, more, outcome, expected) => {
    const { engine, start, attempt } = stage(graphOf([{ id: "a", failure_policy: "retry", ...more }]));
    await start();
    for (let number = 1; number <= expected; number += 1)
      (await attempt(`a/${number}`)).end({ kind: "failed", reason: "no", ...outcome });
    expect((await engine.ended("run")).actions[0]).toMatchObject({ status: "failed", attempts: expected });
  });
});

describe("A run that starts nothing more", () => {
  it("ends with what still runs, whatever is sent to it meanwhile", async () => {
    const graph = graphOf([{ id: "a" }, { id: "b" }, { id: "c", depends_on: ["a"] }], {
      budget: { tokens: 25 },
    });
    const { engine, start, end, attempt, changes } = stage(graph);
    await start();
    await attempt("b/1");
    await end("a/1", "completed", { tokens: 30 });
    await expect
      .poll(() => changes.findLast((change) => "action" in change && change.action.id === "c"))
      .toMatchObject({ action: { status: "canceled" } });
    await sendControl(engine, "run", { kind: "cancel", actions: ["c"], reason: "late" });
    await new Promise((resolve) => setImmediate(resolve));
    await end("b/1", "completed");
    expect(statuses(await engine.ended("run"))).toEqual({ a: "completed", b: "completed", c: "canceled" });
  });
});

describe("A budget over retries", () => {
  it("counts the tokens of attempts that failed, of the run and of the action", async () => {
    const retried = { id: "a", failure_policy: { on_failure: "retry", max_attempts: 9 } };
    for (const [actions, envelope, reason] of [
      [
        [retried, { id: "b", depends_on: ["a"] }],
        { budget: { tokens: 25 } },
        "it depends on a, which is failed",
      ],
      [
        [
          { ...retried, budget: { tokens: 25 } },
          { id: "b", depends_on: ["a"] },
        ],
        {},
        "it depends on a, which is failed",
      ],
    ] as const) {
      const { engine, start, end } = stage(graphOf(actions, envelope));
      await start();
      for (const number of [1, 2, 3]) await end(`a/${number}`, "failed", { tokens: 10 });
      const result = await engine.ended("run");
      expect(result.actions[0]).toMatchObject({ status: "failed", attempts: 3, usage: { tokens: 30 } });
      expect(result.actions[1]).toMatchObject({ status: "canceled", reason });
    }
  });
});

describe("A plan", () => {
  it("runs nothing", async () => {
    const { engine, start, attempts } = stage(graphOf([{ id: "a" }], { intent: "plan" }));
    await start();
    expect(statuses(await engine.ended("run"))).toEqual({ a: "pending" });
    expect(attempts.size).toBe(0);
  });
});
