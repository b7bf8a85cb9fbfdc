import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import type { DecisionInput } from "../src/action.ts";
import { loadPolicy } from "../src/constitution/load.ts";
import type { Policy } from "../src/decision/policy.ts";
import type { Subject } from "../src/subject.ts";

const TOOLS = Array.from({ length: 20 }, (_, n) => `tool_${n}`);

/** Rules as a large company has them: six in ten about paths, one in ten about any tool, the rest about a tool and a role. */
function rulesOf(count: number, sequences = 0): string {
  const lines = Array.from({ length: count }, (_, n) => {
    const tool = TOOLS[n % TOOLS.length];
    const about =
      n % 10 < 6
        ? `{ tool_name_matches: [${tool}], paths: { any: { match: 'packages/part-${n}/**' } } }`
        : n % 10 === 6
          ? `{ user: user-${n}, role: role-${n} }`
          : `{ tool_name_matches: [${tool}], role: role-${n} }`;
    return `  - { name: rule_${n}, condition: ${about}, verdict: ${n % 3 ? "allowed" : "ask"} }`;
  });
  const counted = Array.from(
    { length: sequences },
    (_, n) =>
      `  - { name: seq_${n}, condition: { count: { of: { tool_name_matches: [tool_${n}] }, within: 10m, at_least: 1000 } }, verdict: blocked }`,
  );
  return ["tool_rules:", ...counted, ...lines, "  - { name: last, condition: {}, verdict: ask }"].join("\n");
}

const subject: Subject = {
  user: "ann",
  tenant: "acme",
  roles: ["developer"],
  scopes: ["repo"],
  agent: "coder",
  trust: "registered",
  session: "s",
  started: "interactive",
  chain: [],
  depth: 0,
  mode: "default",
  enforcement: "asked",
};

/** What actions write: a file each, or everything in a workspace of which most rules are about some part. */
type Written = "file" | "tree";

/** Actions of which each matches some rule, or none but the last. */
function inputs(rules: number, counters: Record<string, number>, written: Written): DecisionInput[] {
  return Array.from({ length: 512 }, (_, n) => {
    const part = (n * 37) % rules;
    const inside = written === "tree" ? "" : `packages/part-${part}/src/file.ts`;
    const below = written === "tree" ? { deep: true as const } : {};
    return {
      event_type: "pre_action",
      action: {
        tool: TOOLS[part % TOOLS.length] ?? "",
        effects: [
          {
            kind: "write",
            path: `/w/${inside}`.replace(/\/$/, ""),
            place: "workspace",
            inside,
            ...below,
            destroys: false,
          },
        ],
        opaque: false,
        doubts: [],
        claims: {},
        arguments: {},
      },
      subject,
      counters,
      at: 0,
    };
  });
}

/** The time of single decisions, in µs; a handful at once, because one alone is shorter than the clock can tell. */
function times(policy: Policy, cases: readonly DecisionInput[], rounds: number): number[] {
  const measured: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (let n = 0; n + 8 <= cases.length; n += 8) {
      const start = performance.now();
      for (let one = n; one < n + 8; one += 1) {
        const input = cases[one];
        if (input) policy.decide(input);
      }
      measured.push(((performance.now() - start) * 1_000) / 8);
    }
  }
  return measured.sort((left, right) => left - right);
}

const at = (sorted: readonly number[], share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;

function measure(count: number, sequences: number, rounds: number, written: Written = "file") {
  const policy = loadPolicy({
    file: "bench.yaml",
    rules: rulesOf(count, sequences),
    prose: new Uint8Array(),
  });
  const counters = Object.fromEntries(policy.sequences.map(({ key }) => [key, 1]));
  const cases = inputs(count, counters, written);
  times(policy, cases, 20);
  return times(policy, cases, rounds);
}

const bar = (what: string, value: number, limit: number): BenchRow => ({
  what,
  value,
  unit: "µs",
  baseline: { what: "the bar", value: limit },
  bar: { ratio: 1, sense: "at most" },
});

export default {
  name: "policy-decision",
  title: "Deciding by rules, facts already gathered: 20 tools, 60 % path rules, 10 % any-tool rules",
  async run({ scale }) {
    const rounds = scale === "quick" ? 50 : 400;
    const thousand = measure(1_000, 0, rounds);
    const tenThousand = measure(10_000, 0, Math.ceil(rounds / 8));
    const sequences = measure(1_000, 3, rounds);
    const tree = measure(1_000, 0, rounds, "tree");
    return [
      bar("decision at 1,000 rules, p50", at(thousand, 0.5), 1),
      bar("decision at 1,000 rules, p99", at(thousand, 0.99), 10),
      {
        what: "decision at 10,000 rules, p50",
        value: at(tenThousand, 0.5),
        unit: "µs",
        baseline: { what: "at 1,000 rules", value: at(thousand, 0.5) },
        bar: { ratio: 12, sense: "at most" },
      },
      bar("decision with three sequence conditions, p50", at(sequences, 0.5), 5),
      bar("decision on a whole workspace at 1,000 rules, p50", at(tree, 0.5), 5),
    ];
  },
} satisfies Bench;
