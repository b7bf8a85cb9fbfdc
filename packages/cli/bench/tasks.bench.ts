import { modelConfigFrom, modelsFrom } from "@reins/agent";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { ADDING } from "./tasks/adding.ts";
import { CHANGING } from "./tasks/changing.ts";
import {
  type Attempt,
  type Comparison,
  evaluate,
  evaluateScripted,
  evaluationTable,
  PATH,
} from "./tasks/evaluation.ts";
import { FIXING } from "./tasks/fixing.ts";

/** A quick run takes every third task. */
const QUICK = 3;

const bench: Bench = {
  name: "tasks",
  title:
    "Thirty coding tasks for the native agent, governed beside not governed: with a scripted model, and with a real one where the environment has a key",
  async run({ scale, print }) {
    const all = [...FIXING, ...ADDING, ...CHANGING];
    const tasks = scale === "full" ? all : all.filter((_, at) => at % QUICK === 0);
    const scripted = await evaluateScripted(tasks);
    print("With the scripted model, governed / not governed:", evaluationTable(scripted));
    const rows = rowsOf("scripted model", scripted);
    const model = modelsFrom(modelConfigFrom(process.env)).defaultId;
    if (model === "demo") {
      print("There is no key in the environment, so no real model was asked.");
      return rows;
    }
    const real = await evaluate(tasks, { environment: { ...process.env, PATH } });
    print(`With ${model}, governed / not governed:`, evaluationTable(real));
    return [...rows, ...rowsOf(model, real)];
  },
};

export default bench;

function rowsOf(model: string, comparisons: readonly Comparison[]): BenchRow[] {
  const sum = (figure: (attempt: Attempt) => number, side: "governed" | "bare") =>
    comparisons.reduce((total, each) => total + figure(each[side]), 0);
  const row = (what: string, unit: string, figure: (attempt: Attempt) => number): BenchRow => ({
    what: `${what}, ${model}`,
    value: sum(figure, "governed"),
    unit,
    baseline: { what: "not governed", value: sum(figure, "bare") },
  });
  return [
    {
      ...row(`passed of ${comparisons.length}`, "tasks", ({ isPassed }) => Number(isPassed)),
      bar: { ratio: 1, sense: "at least" },
    },
    row("requests", "requests", ({ requests }) => requests),
    row("calls", "calls", ({ calls }) => calls),
    row("tokens", "tokens", ({ tokens }) => tokens),
    row("cost", "dollars", ({ cost = 0 }) => cost),
    row("time", "s", ({ milliseconds }) => milliseconds / 1_000),
    { what: `asks, ${model}`, value: sum(({ asks }) => asks, "governed"), unit: "asks" },
  ];
}
