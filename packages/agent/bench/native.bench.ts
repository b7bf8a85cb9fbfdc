import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { DemoModel } from "../src/models/demo-model.ts";
import { BenchClient, type TurnTimes } from "./native/bench-client.ts";

const SESSIONS = 200;
const ROUNDS = { quick: 3, full: 15 };
const PROMPT = "what is in this folder";

const bench: Bench = {
  name: "native-agent",
  title:
    "Time to the first words of the native agent with the demo model, alone and with 200 sessions at once",
  async run({ scale }) {
    const folder = await mkdtemp(join(tmpdir(), "native-bench-"));
    const client = new BenchClient();
    try {
      await writeFile(join(folder, "README.md"), "# Tea\n\nBrews tea.\n");
      await writeFile(join(folder, "package.json"), '{"name":"tea","scripts":{"test":"true"}}');
      await alone(client, folder, 50);
      const model = await bareModel(ROUNDS[scale] * 50);
      const one = await alone(client, folder, ROUNDS[scale] * 50);
      const many = await together(client, folder, ROUNDS[scale]);
      return rowsOf(model, one, many);
    } finally {
      await client.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export default bench;

interface Many {
  readonly turns: readonly TurnTimes[];
  /** Turns per second. */
  readonly rate: number;
}

function rowsOf(model: number, one: Many, many: Many): BenchRow[] {
  const first = (turns: readonly TurnTimes[], part: number) =>
    quantile(
      turns.map(({ firstWords }) => firstWords),
      part,
    );
  const p50 = first(one.turns, 0.5);
  const alone = { what: "one session, p50", value: p50 };
  return [
    {
      what: "first words, one session, p50",
      value: p50,
      unit: "ms",
      baseline: { what: "the model by itself", value: model },
    },
    { what: "first words, one session, p99", value: first(one.turns, 0.99), unit: "ms", baseline: alone },
    {
      what: `first words, ${SESSIONS} sessions at once, p50`,
      value: first(many.turns, 0.5),
      unit: "ms",
      baseline: alone,
    },
    {
      what: `first words, ${SESSIONS} sessions at once, p99`,
      value: first(many.turns, 0.99),
      unit: "ms",
      baseline: alone,
    },
    {
      what: `turns with a call, ${SESSIONS} sessions at once`,
      value: many.rate,
      unit: "/s",
      baseline: { what: "one session", value: one.rate },
      bar: { ratio: 1, sense: "at least" },
    },
  ];
}

/** Milliseconds to the first text of the model. */
async function bareModel(times: number): Promise<number> {
  const taken: number[] = [];
  const request = {
    system: "",
    messages: [{ role: "user" as const, parts: [{ type: "text" as const, text: PROMPT }] }],
    tools: [{ name: "list_files", description: "", parameters: {} }],
    thoughtLevel: "default" as const,
  };
  for (let round = 0; round < times; round += 1) {
    const began = performance.now();
    for await (const _ of new DemoModel().stream(request, new AbortController().signal)) break;
    taken.push(performance.now() - began);
  }
  return quantile(taken, 0.5);
}

/** Turns in series, each in its own session, so that no history grows. */
async function alone(client: BenchClient, folder: string, times: number): Promise<Many> {
  const turns: TurnTimes[] = [];
  let spent = 0;
  for (let round = 0; round < times; round += 1) {
    const session = await client.begin(folder);
    const turn = await client.turn(session, PROMPT);
    turns.push(turn);
    spent += turn.end;
  }
  return { turns, rate: (turns.length / spent) * 1_000 };
}

async function together(client: BenchClient, folder: string, rounds: number): Promise<Many> {
  const turns: TurnTimes[] = [];
  let spent = 0;
  for (let round = 0; round < rounds; round += 1) {
    const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => client.begin(folder)));
    const began = performance.now();
    turns.push(...(await Promise.all(sessions.map((session) => client.turn(session, PROMPT)))));
    spent += performance.now() - began;
  }
  return { turns, rate: (turns.length / spent) * 1_000 };
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
