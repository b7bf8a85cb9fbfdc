import { readFileSync } from "node:fs";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { Backtest } from "../src/backtest/backtest.ts";
import { loadPolicy } from "../src/constitution/load.ts";
import type { Policy } from "../src/decision/policy.ts";

const TOOLS = Array.from({ length: 20 }, (_, n) => `tool_${n}`);

/** What the issue asks for. */
const BAR_PER_SECOND = 100_000;

/** A draft of many rules, six in ten of them about paths, and a few that count what came before. */
function largeDraft(rules: number, sequences: number): Policy {
  const counted = Array.from(
    { length: sequences },
    (_, n) =>
      `  - { name: seq_${n}, condition: { count: { of: { tool_name_matches: [tool_${n}] }, within: 10m, at_least: 100000 } }, verdict: blocked }`,
  );
  const lines = Array.from({ length: rules }, (_, n) => {
    const about =
      n % 10 < 6 ? `paths: { any: { match: 'packages/part-${n}/**' } }` : `role: role-${n}, mode: default`;
    return `  - { name: rule_${n}, condition: { tool_name_matches: [${TOOLS[n % 20]}], ${about} }, verdict: ask }`;
  });
  return load(
    ["tool_rules:", ...counted, ...lines, "  - { name: last, condition: {}, verdict: allowed }"].join("\n"),
  );
}

function shippedDefault(): Policy {
  return load(readFileSync(new URL("../constitutions/default.yaml", import.meta.url), "utf8"));
}

function load(rules: string): Policy {
  return loadPolicy({ file: "bench.yaml", rules, prose: new Uint8Array() });
}

/** Payloads as a ledger gives them, of 200 sessions, each a different object. Most come out otherwise: the slower way. */
function payloads(count: number): unknown[] {
  return Array.from({ length: count }, (_, n) => {
    const inside = `packages/part-${n % 1_000}/src/file.ts`;
    const command = { kind: "exec", command: "git", arguments: ["add", inside], opaque: false };
    return {
      verdict: "allowed",
      reason: "because",
      rule: "another",
      enforcement: "asked",
      constitution_hash: "c0".repeat(32),
      rules_hash: "f0".repeat(32),
      event_type: "pre_action",
      at: 1_790_000_000_000 + n * 100,
      subject: {
        user: `user-${n % 40}`,
        tenant: "default",
        roles: ["developer"],
        scopes: ["*"],
        agent: `agent-${n % 4}`,
        trust: "registered",
        session: `session-${n % 200}`,
        started: "interactive",
        chain: [],
        depth: 0,
        mode: "default",
        enforcement: "asked",
      },
      facts: {
        tool: TOOLS[n % TOOLS.length],
        effects: [{ kind: "read", path: `/w/${inside}`, place: "workspace", inside }, command],
        opaque: false,
        doubts: [],
        claims: {},
        arguments: {},
      },
      counters: {},
    };
  });
}

/** Verdicts a second, the best of a few rounds. */
function rate(draft: Policy, entries: readonly unknown[], rounds: number): number {
  let best = 0;
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    const backtest = new Backtest(draft);
    for (const payload of entries) backtest.add("cid", payload);
    if (backtest.report().total !== entries.length) throw new Error("not all were decided again");
    best = Math.max(best, entries.length / ((performance.now() - start) / 1_000));
  }
  return best;
}

const row = (what: string, value: number): BenchRow => ({
  what,
  value: Math.round(value),
  unit: "verdicts/s",
  baseline: { what: "the bar", value: BAR_PER_SECOND },
  bar: { ratio: 1, sense: "at least" },
});

export default {
  name: "backtest",
  title: "Deciding the verdicts of the past again, payloads checked, in memory",
  async run({ scale }) {
    const entries = payloads(scale === "quick" ? 50_000 : 200_000);
    const rounds = scale === "quick" ? 3 : 5;
    return [
      row("the default constitution", rate(shippedDefault(), entries, rounds)),
      row("a draft of 1,000 rules", rate(largeDraft(1_000, 0), entries, rounds)),
      row("a draft of 1,000 rules that counts in three of them", rate(largeDraft(1_000, 3), entries, rounds)),
    ];
  },
} satisfies Bench;
