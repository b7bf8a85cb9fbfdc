import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Draft, KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { type Action, type ControlEvent, loadPolicy, type Subject } from "@reins/policy";
import { openSqlite } from "@reins/store";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { Approvals } from "../src/approvals/approvals.ts";
import { Supervisor } from "../src/decision/supervisor.ts";
import { harnessTables } from "../src/harness/tables.ts";
import { verdictDraft } from "../src/record/record.ts";
import { keysIn } from "../test/approvals/home.ts";

const subject: Subject = {
  user: "ann",
  tenant: "default",
  roles: ["developer"],
  scopes: ["*"],
  agent: "coder",
  trust: "registered",
  session: "s1",
  started: "interactive",
  chain: [],
  depth: 0,
  mode: "default",
  enforcement: "asked",
};
const requestContext = { workspace: { cwd: "/w", roots: ["/w"] } };
const action = (tool: string): Action => ({
  tool,
  effects: [
    { kind: "exec", command: tool, arguments: ["-n", "src/main.ts"], opaque: false },
    { kind: "read", path: "/w/src/main.ts", place: "workspace", inside: "src/main.ts" },
  ],
  opaque: false,
  doubts: [],
  claims: {},
  arguments: { command: `${tool} -n src/main.ts` },
});
const RULES = `
tool_rules:
${Array.from({ length: 100 }, (_, n) => `  - { name: tool_${n}, condition: { tool_name_matches: [tool_${n}], role: none }, verdict: ask }`).join("\n")}
  - { name: never, condition: { tool_name_matches: [rm] }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }`;

async function withSupervisor<Result>(
  run: (supervisor: Supervisor, ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const home = await mkdtemp(join(tmpdir(), "supervisor-bench-"));
  const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables, ...harnessTables] });
  const signers = new KeyFolder(join(home, "keys"));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/bench" });
  const approvals = new Approvals({ store, ledger, ...(await keysIn(home)) });
  const policy = loadPolicy({ file: "bench.yaml", rules: RULES, prose: new Uint8Array() });
  const gatherFacts = async ({ payload }: ControlEvent) => action(Object(payload).tool_name);
  const supervisor = new Supervisor({
    store,
    ledger,
    approvals,
    policies: { get: () => policy },
    gatherFacts,
  });
  try {
    return await run(supervisor, ledger);
  } finally {
    await supervisor.close();
    await approvals.close();
    await ledger.close();
    await store.close();
    await rm(home, { recursive: true, force: true });
  }
}

const event = (tool: string): ControlEvent => ({
  event_type: "pre_action",
  session_id: "s1",
  agent_id: "coder",
  depth: 0,
  payload: { tool_name: tool, arguments: { command: `${tool} -n src/main.ts` } },
});

/** Verdicts that allow nothing: each is returned at once and written a little later. */
async function buffered(count: number): Promise<BenchRow[]> {
  return withSupervisor(async (supervisor) => {
    const decide = () => supervisor.decide(event("rm"), subject, requestContext);
    for (let n = 0; n < count / 10; n += 1) await decide();
    await supervisor.close();
    const times: number[] = [];
    for (let n = 0; n < count / 10; n += 1) {
      const start = performance.now();
      await decide();
      times.push(performance.now() - start);
      // As agents do: each waits for its answer, and for others.
      if (n % 10 === 0) await new Promise(setImmediate);
    }
    await supervisor.close();
    const start = performance.now();
    for (let n = 0; n < count; n += 1) await decide();
    const told = performance.now();
    await supervisor.close();
    const written = performance.now();
    const rate = (end: number) => count / ((end - start) / 1_000);
    return [
      { ...row("verdict, ledger buffered, p50", median(times) * 1_000, "µs", 25), bar: AT_MOST },
      { ...row("verdicts told, ledger buffered", rate(told), "verdicts/s", 30_000), bar: AT_LEAST },
      { what: "the same, until all are written", value: rate(written), unit: "verdicts/s" },
    ];
  });
}

/** Verdicts that allow something: each is on the disk before it is returned. */
async function durable(count: number): Promise<BenchRow> {
  return withSupervisor(async (supervisor, ledger) => {
    const [ours, bare]: [number[], number[]] = [[], []];
    for (let n = 0; n < count; n += 1) {
      const before = performance.now();
      await ledger.record([bareDraft(n)]);
      const between = performance.now();
      await supervisor.decide(event("ls"), subject, requestContext);
      ours.push(performance.now() - between);
      bare.push(between - before);
    }
    return {
      what: "verdict durable before it is returned, p50",
      value: median(ours) * 1_000,
      unit: "µs",
      baseline: { what: "the bare durable append", value: median(bare) * 1_000 },
      bar: { ratio: 2, sense: "at most" },
    };
  });
}

function bareDraft(at: number): Draft {
  const enforcement = "asked" as const;
  const decided = { verdict: "allowed" as const, reason: "r", rule: "rest", enforcement, entry: undefined };
  const input = { event_type: "pre_action", action: action("ls"), subject, counters: {}, at };
  return verdictDraft({ input, decided, hashes: undefined, argumentPaths: [], failedOpen: [] });
}

const AT_MOST = { ratio: 1, sense: "at most" } as const;
const AT_LEAST = { ratio: 1, sense: "at least" } as const;

function row(what: string, value: number, unit: string, wanted: number): BenchRow {
  return { what, value, unit, baseline: { what: "wanted", value: wanted } };
}

function median(values: number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

export default {
  name: "supervisor",
  title: "Policy, limits and ledger behind one verdict, facts already gathered",
  async run({ scale }) {
    const quick = scale === "quick";
    return [...(await buffered(quick ? 10_000 : 40_000)), await durable(quick ? 300 : 2_000)];
  },
} satisfies Bench;
