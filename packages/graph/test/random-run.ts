import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import type { Graph } from "../src/declaration/graph.ts";
import type { Attempt, Control } from "../src/run/schedule-ports.ts";
import { graphOf } from "./graphs.ts";

/** A graph, and a world in which everything that its actions come to is fixed. */
export interface RandomRun {
  readonly graph: Graph;
  readonly parallel: number;
  readonly writes: ReadonlyMap<string, readonly string[]>;
  /** What the n-th attempt at an action comes to, and how many turns of the event loop it takes. */
  attempt(id: string, number: number): { readonly attempt: Attempt; readonly turns: number };
  /** What is decided about an action that failed after so many attempts. */
  decide(id: string, attempts: number): Extract<Control, { kind: "decide" }>;
}

export interface RandomRunOptions {
  readonly actions: number;
  /** Whether it has budgets, with which the result depends on who is first. */
  readonly hasBudget?: boolean;
}

const STATUSES = ["completed", "failed", "blocked", "canceled"] as const;
const POLICIES = ["abort", "continue", "retry", "ask_model"] as const;

/** A run by a seed: dependencies, conditions, loops, failures, conflicting writes, and budgets if wanted. */
export function randomRun(seed: number, { actions: size, hasBudget = false }: RandomRunOptions): RandomRun {
  const random = seededRandom(seed);
  // One status for each action that conditions name, so that they never exclude each other.
  const wanted = Array.from({ length: size }, () => random.pick(STATUSES));
  const writes = new Map<string, readonly string[]>();
  const actions = Array.from({ length: size }, (_, index) => {
    const id = `a${index}`;
    if (random.chance(0.3)) writes.set(id, [random.pick(["src", "src/x", "docs", "*"])]);
    const others = (share: number, most: number) =>
      index === 0 || !random.chance(share)
        ? []
        : [...new Set(Array.from({ length: 1 + random.int(most) }, () => random.int(index)))];
    const failure = {
      on_failure: random.pick(POLICIES),
      ...(random.chance(0.3) && { max_attempts: 1 + random.int(3) }),
    };
    return {
      id,
      depends_on: others(0.7, 3).map((other) => `a${other}`),
      when: others(0.15, 2).map((other) => ({ action: `a${other}`, status: wanted[other] })),
      failure_policy: failure,
      ...(random.chance(0.1) && { loop: loopOf(random) }),
      ...(random.chance(0.2) && { cancellation_policy: { running: "finish" } }),
      ...(hasBudget && random.chance(0.1) && { budget: { tokens: random.int(30) } }),
    };
  });
  const budget = hasBudget
    ? {
        ...(random.chance(0.5) && { tokens: random.int(size * 10 + 1) }),
        ...(random.chance(0.3) && { cost: random.int(size + 1) }),
        ...(random.chance(0.3) && { retries: random.int(5) }),
        ...(random.chance(0.3) && { calls: size + random.int(size + 1) }),
      }
    : {};
  const salt = random.int(2 ** 32);
  const of = (id: string, number: number) =>
    seededRandom((salt ^ (Number(id.slice(1)) * 7919 + number * 104_729)) >>> 0);
  return {
    graph: graphOf(actions, { budget, persist: true }),
    parallel: 1 + random.int(8),
    writes,
    attempt(id, number) {
      const chance = of(id, number);
      const kind = chance.pick([
        "completed",
        "completed",
        "completed",
        "failed",
        "failed",
        "blocked",
      ] as const);
      const usage = { tokens: chance.int(20), cost: chance.int(2) };
      const attempt: Attempt =
        kind === "completed"
          ? { kind, output: { id, number, done: chance.chance(0.3) }, summary: `${id} ${number}`, usage }
          : { kind, reason: `${id} ${number} is ${kind}`, usage };
      return { attempt, turns: 1 + chance.int(4) };
    },
    decide(id, attempts) {
      const decisions =
        attempts > 6 ? (["continue", "abort"] as const) : (["retry", "continue", "abort"] as const);
      return { kind: "decide", action: id, attempts, decision: of(id, attempts + 1_000).pick(decisions) };
    },
  };
}

function loopOf(random: Random): object {
  const until = random.pick([
    {},
    { until: { status: "completed" } },
    { until: { status: "failed" } },
    { until: { field: "done", equals: true } },
  ]);
  return { max_iterations: 1 + random.int(4), ...until };
}
