import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqlite, type Store } from "@reins/store";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { declarationSource, readDeclared } from "../src/declaration/carrier.ts";
import type { ProtocolDeclaration } from "../src/declaration/grammar.ts";
import { graphOfCalls, graphOfDeclaration } from "../src/declaration/graph.ts";
import type { RunScope } from "../src/engine/engine.ts";
import { JournalEngine } from "../src/engine/journal-engine.ts";
import { StoreJournal } from "../src/engine/store-journal.ts";
import { graphTables } from "../src/engine/tables.ts";
import { runGraph } from "../src/run/schedule.ts";
import type { RunResult } from "../src/run/schedule-ports.ts";
import { outputSummary } from "../src/view/observation.ts";
import { transcript } from "../src/view/transcript.ts";

const VALUE = { kind: "completed", output: "x".repeat(200), summary: "done" };

const median = (values: readonly number[]) =>
  values.toSorted((one, two) => one - two)[Math.floor(values.length / 2)] ?? 0;

/** Runs with a store that is gone afterwards, and the same rows straight in SQLite beside it. */
async function withStore<Result>(
  measure: (store: Store, insert: Insert) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "graph-bench-"));
  const store = await openSqlite({ path: join(folder, "runs.db"), tables: [graphTables] });
  const raw = new DatabaseSync(join(folder, "raw.db"));
  raw.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE entries (run TEXT, name TEXT, value TEXT, PRIMARY KEY (run, name)) STRICT, WITHOUT ROWID`);
  const insert = raw.prepare("INSERT INTO entries (run, name, value) VALUES (?, ?, ?)");
  try {
    return await measure(store, (rows) => {
      raw.exec("BEGIN IMMEDIATE");
      for (const name of rows) insert.run("run", name, JSON.stringify(VALUE));
      raw.exec("COMMIT");
    });
  } finally {
    raw.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Stores rows in one durable transaction. */
type Insert = (names: readonly string[]) => void;

/** One step after the other in one run, each beside a bare insert. */
async function stepLatency(count: number): Promise<BenchRow> {
  return withStore(async (store, insert) => {
    const [ours, bare]: [number[], number[]] = [[], []];
    const engine = new JournalEngine<null, null>({
      journal: new StoreJournal(store),
      orchestrate: async (_, { step }: RunScope) => {
        for (let number = 0; number < count; number += 1) {
          const start = performance.now();
          insert([`n${number}`]);
          const middle = performance.now();
          await step(`n${number}`, async () => VALUE);
          bare.push(middle - start);
          ours.push(performance.now() - middle);
        }
        return null;
      },
    });
    await engine.start("run", null);
    await engine.ended("run");
    return {
      what: "one durable step alone, p50",
      value: median(ours),
      unit: "ms",
      // A millisecond, where the disk takes half of one for an insert.
      baseline: { what: "bare durable insert", value: median(bare) },
      bar: { ratio: 2, sense: "at most" },
    };
  });
}

/** Steps of many runs at once; the best of some rounds, because others use the machine too. */
async function stepRate(runs: number, steps: number, rounds: number): Promise<BenchRow[]> {
  return withStore(async (store, insert) => {
    const engine = new JournalEngine<null, null>({
      journal: new StoreJournal(store),
      orchestrate: async (_, { step }: RunScope) => {
        for (let number = 0; number < steps; number += 1) await step(`n${number}`, async () => VALUE);
        return null;
      },
    });
    const [ours, bare]: [number[], number[]] = [[], []];
    const rate = (start: number, end: number) => (runs * steps) / ((end - start) / 1_000);
    for (let round = 0; round < rounds; round += 1) {
      const ids = Array.from({ length: runs }, (_, run) => `run-${round}-${run}`);
      const start = performance.now();
      await Promise.all(ids.map((run) => engine.start(run, null)));
      await Promise.all(ids.map((run) => engine.ended(run)));
      const middle = performance.now();
      for (let number = 0; number < steps; number += 1) insert(ids.map((run) => `${run} ${number}`));
      ours.push(rate(start, middle));
      bare.push(rate(middle, performance.now()));
    }
    const row = { what: `durable steps of ${runs} runs at once`, value: Math.max(...ours), unit: "steps/s" };
    return [
      { ...row, baseline: { what: "bare durable inserts, as many together", value: Math.max(...bare) } },
      { ...row, baseline: { what: "wanted", value: 5_000 }, bar: { ratio: 1, sense: "at least" } },
    ];
  });
}

/** Graphs of 1,000 actions that do nothing, without persistence. */
async function scheduling(rounds: number): Promise<BenchRow[]> {
  const shapes = {
    "all at once": () => [],
    "each after the one before": (index: number) => (index === 0 ? [] : [`a${index - 1}`]),
    "in layers of ten": (index: number) =>
      index < 10
        ? []
        : Array.from({ length: 10 }, (_, other) => `a${Math.floor(index / 10) * 10 - 10 + other}`),
  };
  const rows: BenchRow[] = [];
  for (const [shape, dependsOn] of Object.entries(shapes)) {
    const actions = Array.from({ length: 1_000 }, (_, index) => ({
      id: `a${index}`,
      depends_on: dependsOn(index),
    }));
    const declared = readDeclared({
      type: "agent.protocol",
      version: "1",
      intent: "execute",
      payload: { actions },
    });
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = performance.now();
      const graph = graphOfDeclaration(declared as Extract<ProtocolDeclaration, { intent: "execute" }>, []);
      const engine = new JournalEngine<null, RunResult>({
        orchestrate: (_, scope) =>
          runGraph(graph, scope, {
            parallel: 16,
            writesOf: () => [],
            attempt: async () => ({ kind: "completed", output: null, summary: "" }),
          }),
      });
      await engine.start("run", null);
      const { status } = await engine.ended("run");
      if (status !== "completed") throw new Error(`the run is ${status}`);
      times.push(performance.now() - start);
    }
    rows.push({
      what: `1,000 actions, ${shape}`,
      value: median(times),
      unit: "ms",
      baseline: { what: "wanted", value: 150 },
      bar: { ratio: 1, sense: "at most" },
    });
  }
  return rows;
}

interface RecordedTurn {
  readonly purpose: string;
  readonly calls: readonly { name: string; args: Record<string, unknown>; output: string }[];
}

/**
 * What a model is shown at the end of a recorded task, by the transcript and by a raw replay of its messages: declared by the
 * carrier, or in the full form, whose declarations are shown too while they are short and recent.
 */
async function replaySize(form: "carrier" | "full form"): Promise<BenchRow> {
  const text = await readFile(new URL("./runs/recorded-task.jsonl", import.meta.url), "utf8");
  const turns: readonly RecordedTurn[] = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const goal = "Find out how retries of the scheduler wait, and whether their pause is bounded.";
  const raw = turns.flatMap(({ purpose, calls }) => [
    {
      role: "assistant",
      content: purpose,
      tool_calls: calls.map(({ name, args }, index) => ({
        id: `call_${index}`,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    },
    ...calls.map(({ output }, index) => ({ role: "tool", tool_call_id: `call_${index}`, content: output })),
  ]);
  const shown = transcript(
    [
      { kind: "user", text: goal },
      ...turns.map(({ purpose, calls }, turn) => ({
        ...{ kind: "run" as const, run: `run_${turn}`, status: "completed" as const },
        isCarrier: form === "carrier",
        graph: graphOfCalls({
          kind: "act",
          message: purpose,
          calls: calls.map(({ name, args }, index) => ({
            id: `c${index}`,
            type: "tool",
            name,
            args,
            result: "summary",
          })),
        }),
        declaration: form === "carrier" ? JSON.stringify(calls) : declared({ purpose, calls }),
        states: calls.map(({ output }, index) => ({
          ...{ id: `c${index}`, status: "completed" as const, attempts: 1, iterations: 1 },
          result: { output, summary: outputSummary(output) },
        })),
      })),
    ],
    { maxTokens: 8_000 },
  );
  const calls = turns.reduce((sum, turn) => sum + turn.calls.length, 0);
  return {
    what: `shown of ${calls} calls under the default policy, by the ${form}`,
    value: shown.length,
    unit: "characters",
    baseline: { what: "raw replay", value: JSON.stringify([{ role: "user", content: goal }, ...raw]).length },
    bar: { ratio: 0.2, sense: "at most" },
  };
}

/** A turn as a block that a model would write. */
function declared({ purpose, calls }: RecordedTurn): string {
  const actions = calls.map(({ name, args }, index) => ({
    ...{ id: `c${index}`, executor: { type: "tool", target: name }, input: args },
  }));
  const envelope = { type: "agent.protocol", version: "1", intent: "execute", title: purpose };
  return declarationSource(JSON.stringify({ ...envelope, payload: { actions } }, null, 2), []);
}

export default {
  name: "graph-runs",
  title: "Durable steps beside bare inserts, scheduling of 1,000 actions, and what the model is shown",
  async run({ scale }) {
    const isQuick = scale === "quick";
    return [
      await stepLatency(isQuick ? 300 : 2_000),
      ...(await stepRate(256, isQuick ? 20 : 50, isQuick ? 2 : 4)),
      ...(await scheduling(isQuick ? 3 : 15)),
      await replaySize("carrier"),
      await replaySize("full form"),
    ];
  },
} satisfies Bench;
