import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import type { DecisionInput, Effect, ReadEffect, WriteEffect } from "../action.ts";
import { Condition } from "../constitution/condition.ts";
import { RuleVerdict } from "../constitution/constitution.ts";
import { loadPolicy } from "../constitution/load.ts";
import type { Subject } from "../subject.ts";
import { blake3Hex, History, type Policy } from "./policy.ts";
import { explainedBy } from "./rules.ts";

const prose = Buffer.from("be kind");

function policyOf(rules: string): Policy {
  return loadPolicy({ file: "constitution.yaml", rules, prose });
}

function shipped(name: string): Policy {
  const text = (file: string) => readFileSync(new URL(`../../constitutions/${file}`, import.meta.url));
  return loadPolicy({ file: `${name}.yaml`, rules: text(`${name}.yaml`).toString(), prose });
}

const ann: Subject = {
  user: "ann",
  tenant: "acme",
  roles: ["developer"],
  scopes: ["repo:write"],
  agent: "coder",
  trust: "registered",
  session: "s1",
  started: "interactive",
  chain: [],
  depth: 0,
  mode: "default",
  enforcement: "asked",
};

interface Given {
  tool?: string;
  event?: string;
  effects?: Effect[];
  opaque?: boolean;
  arguments?: unknown;
  subject?: Partial<Subject>;
  counters?: Record<string, number>;
  at?: string;
  /** What was done before. */
  before?: Given[];
}

function input({
  tool = "bash",
  event = "pre_action",
  effects = [],
  opaque = false,
  subject,
  counters = {},
  at = "2026-11-15T12:00:00Z",
  ...rest
}: Given): DecisionInput {
  return {
    event_type: event,
    action: { tool, effects, opaque, doubts: [], claims: {}, arguments: rest.arguments ?? {} },
    subject: { ...ann, ...subject },
    counters,
    at: Date.parse(at),
  };
}

/** Whether a condition, written as YAML, holds. */
function holds(condition: string, given: Given, verdict: RuleVerdict = "ask"): boolean {
  const policy = policyOf(`
tools: { deploy: { scopes: [prod], sensitivity: high } }
tool_rules:
  - { name: r, condition: ${condition}, verdict: ${verdict} }`);
  const history = new History(policy.sequences);
  for (const earlier of given.before ?? []) history.note(input(earlier));
  const asked = input(given);
  const counters = history.counters(asked.subject, asked.at);
  return policy.decide({ ...asked, counters }).rule === "r";
}

describe("HAAK's rules", () => {
  const policy = shipped("haak");
  const verdict = (tool: string, trust: Subject["trust"]) =>
    policy.decide(input({ tool, subject: { trust } })).verdict;

  test("unknown agents are kept from shell and files, and may read, search and send messages", () => {
    for (const tool of ["bash", "write_file", "spawn_subagent"])
      expect(verdict(tool, "unknown")).toBe("blocked");
    for (const tool of ["read_file", "search", "send_message"])
      expect(verdict(tool, "unknown")).toBe("allowed");
  });

  test("registered and standing agents may use any tool", () => {
    for (const tool of ["bash", "anything"]) {
      expect(verdict(tool, "registered")).toBe("allowed");
      expect(verdict(tool, "standing")).toBe("allowed");
    }
  });

  test("what no rule names is blocked, with the reason", () => {
    const { verdict, reason, rule } = policy.decide(input({ tool: "launch", subject: { trust: "unknown" } }));
    expect({ verdict, reason, rule }).toEqual({
      verdict: "blocked",
      reason: "no matching policy rule",
      rule: undefined,
    });
  });

  test("apply to tools only: session starts and prompts are allowed for every subject", () => {
    for (const event_type of ["session_start", "pre_prompt"]) {
      const asked = { ...input({ tool: "session/new", subject: { trust: "unknown" } }), event_type };
      expect(policy.decide(asked)).toMatchObject({ verdict: "allowed", rule: undefined });
      const narrow = policyOf(`
tool_rules:
  - { name: read, condition: { tool_name_matches: [read_file] }, verdict: allowed }
  - { name: quiet, condition: { event: post_action }, verdict: allowed }`);
      expect(narrow.decide(asked)).toMatchObject({ verdict: "blocked", reason: "no matching policy rule" });
    }
    const action = { ...input({ tool: "launch", subject: { trust: "unknown" } }), event_type: "pre_action" };
    expect(policy.decide(action).verdict).toBe("blocked");
  });

  test("every verdict carries the hash of the prose and of the rules", () => {
    for (const tool of ["bash", "launch"]) {
      const verdict = policy.decide(input({ tool, subject: { trust: "unknown" } }));
      expect(verdict.constitution_hash).toBe(blake3Hex(prose));
      expect(verdict.constitution_hash).toMatch(/^[0-9a-f]{64}$/);
      expect(verdict.rules_hash).toMatch(/^[0-9a-f]{64}$/);
    }
  });
});

describe("rules", () => {
  test("the first that matches wins, in the order of the file", () => {
    const policy = policyOf(`
tool_rules:
  - { name: first, condition: { tool_name_matches: [bash] }, verdict: blocked, reason: no }
  - { name: second, condition: {}, verdict: allowed }
  - { name: third, condition: { tool_name_matches: [ls] }, verdict: blocked }`);
    expect(policy.decide(input({ tool: "bash" }))).toMatchObject({
      verdict: "blocked",
      rule: "first",
      reason: "no",
    });
    expect(policy.decide(input({ tool: "ls" }))).toMatchObject({ verdict: "allowed", rule: "second" });
  });

  test("conditions are ANDed, and an empty one matches everything", () => {
    const both = "{ agent_trust: unknown, tool_name_matches: [bash] }";
    expect(holds(both, { tool: "bash", subject: { trust: "unknown" } })).toBe(true);
    expect(holds(both, { tool: "bash" })).toBe(false);
    expect(holds(both, { tool: "ls", subject: { trust: "unknown" } })).toBe(false);
    expect(holds("{}", {})).toBe(true);
  });

  const rule = (verdict: RuleVerdict, more = "") =>
    `{ name: r, condition: { tool_name_matches: [x] }, verdict: ${verdict}${more} }`;

  const verdicts: [verdict: RuleVerdict, rule: string, more: object][] = [
    ["allowed", rule("allowed"), {}],
    ["blocked", rule("blocked", ", reason: no"), { reason: "no" }],
    ["ask", rule("ask", ", quorum: 2, expires: 1h"), { quorum: 2, expires_ms: 3_600_000 }],
    ["defer", rule("defer", ", retry_after: 5s"), { retry_after_ms: 5_000 }],
    ["defer", rule("defer"), { retry_after_ms: 60_000 }],
    ["modify", rule("modify", ", patch: { command: ls }"), { patch: { command: "ls" } }],
  ];
  test.each(verdicts)(
    "say %s, with what goes with it, where they match and nowhere else",
    (verdict, text, more) => {
      const otherwise = verdict === "blocked" ? "allowed" : "blocked";
      const policy = policyOf(
        `tool_rules:\n  - ${text}\n  - { name: rest, condition: {}, verdict: ${otherwise} }`,
      );
      expect(policy.decide(input({ tool: "x" }))).toMatchObject({ verdict, rule: "r", ...more });
      expect(policy.decide(input({ tool: "y" }))).toEqual({
        verdict: otherwise,
        reason: 'rule "rest"',
        rule: "rest",
        ...policy.hashes,
      });
    },
  );

  test("every verdict there is has been tried", () => {
    expect(new Set(verdicts.map(([verdict]) => verdict))).toEqual(new Set(RuleVerdict.options));
  });
});

const read = (place: "workspace" | "home" | "unknown", inside?: string): ReadEffect => ({
  kind: "read",
  path: `/w/${inside ?? "x"}`,
  place,
  ...(inside === undefined ? {} : { inside }),
});
const write = (path: string, destroys = false): WriteEffect => ({
  kind: "write",
  path,
  place: "workspace",
  inside: path.slice(3),
  destroys,
});
const run = (...words: (string | null)[]): Effect => ({
  kind: "exec",
  command: words[0] ?? "",
  arguments: words.slice(1),
  opaque: false,
});
const net = (host: string): Effect => ({ kind: "net", host });
const passing = (effect: ReadEffect): Effect => ({ ...effect, passing: true });
const deep = (effect: ReadEffect | WriteEffect): Effect => ({ ...effect, deep: true });

/** A condition, something it holds of, and something it does not hold of. */
type Case = readonly [condition: string, match: Given, miss: Given];

/** An action of a graph that closes a ticket. */
const GRAPH = { run: "r1", executor: "service:tickets", action: "close_ticket", operation: "close" };

const PLAIN_CASES: readonly Case[] = [
  ["{ agent_trust: [unknown, registered] }", {}, { subject: { trust: "standing" } }],
  ["{ tool_name_matches: ['mcp__*', bash] }", { tool: "mcp__git__push" }, { tool: "xmcp__git" }],
  ["{ event: pre_prompt }", { event: "pre_prompt" }, { event: "pre_action" }],
  ["{ agent: 'cod*' }", {}, { subject: { agent: "writer" } }],
  ["{ user: ann }", {}, { subject: { user: "annie" } }],
  ["{ tenant: acme }", {}, { subject: { tenant: "other" } }],
  ["{ role: [admin, developer] }", {}, { subject: { roles: ["guest"] } }],
  ["{ scopes: [repo:write] }", {}, { subject: { scopes: [] } }],
  ["{ scopes: [a, b] }", { subject: { scopes: ["*"] } }, { subject: { scopes: ["a"] } }],
  ["{ started: [background, interactive] }", {}, { subject: { started: "api" } }],
  ["{ session: s1 }", {}, { subject: { session: "s2" } }],
  ["{ mode: plan }", { subject: { mode: "plan" } }, {}],
  ["{ depth: { at_least: 1, at_most: 2 } }", { subject: { depth: 2 } }, { subject: { depth: 3 } }],
  ["{ enforcement: [performed, confined] }", { subject: { enforcement: "confined" } }, {}],
  ["{ opaque: false }", {}, { opaque: true }],
  ["{ effects: { every: [read] } }", { effects: [read("home")] }, { effects: [read("home"), net("x")] }],
  ["{ effects: { any: [net] } }", { effects: [read("home"), net("x")] }, { effects: [read("home")] }],
  [
    "{ reads: { every: { place: workspace } } }",
    { effects: [read("workspace")] },
    { effects: [read("workspace"), read("home")] },
  ],
  [
    "{ reads: { every: { place: workspace } } }",
    { effects: [write("/w/a")] },
    { effects: [read("unknown")] },
  ],
  [
    "{ paths: { any: { match: 'src/**' } } }",
    { effects: [read("workspace", "src/a/b.ts")] },
    { effects: [read("workspace", "lib/a.ts")] },
  ],
  [
    "{ paths: { any: { match: /w/secret/* } } }",
    { effects: [write("/w/secret/x")] },
    { effects: [write("/w/secret/x/y")] },
  ],
  [
    "{ writes: { any: { destroys: true } } }",
    { effects: [write("/w/a", true)] },
    { effects: [write("/w/a")] },
  ],
  [
    "{ commands: { every: [ls, 'git status'] } }",
    { effects: [run("ls", "-la"), run("git", "status", "-s")] },
    { effects: [run("git", "push")] },
  ],
  [
    "{ commands: { every: ['git status'] } }",
    { effects: [run("git", "status")] },
    { effects: [run("git", "-C", "x", "status")] },
  ],
  [
    "{ commands: { any: ['git push'] } }",
    { effects: [run("git", "-C", "x", "push", "origin")] },
    { effects: [run("git", "status")] },
  ],
  ["{ commands: { any: ['git push'] } }", { effects: [run("git", null)] }, { effects: [run("hg", null)] }],
  [
    "{ hosts: { every: ['*.example.com'] } }",
    { effects: [net("a.example.com")] },
    { effects: [net("a.example.com"), net("evil.example")] },
  ],
  ["{ hosts: { any: [evil.example] } }", { effects: [net("*")] }, { effects: [net("good.example")] }],
  ["{ arguments: { a.b: 'x*' } }", { arguments: { a: { b: "xyz" } } }, { arguments: { a: "xyz" } }],
  ["{ time: { from: '09:00', until: '17:00', days: [sun] } }", {}, { at: "2026-11-15T17:00:00Z" }],
  ["{ time: { from: '22:00', until: '06:00' } }", { at: "2026-11-15T23:30:00Z" }, {}],
  ["{ time: { from: '13:00', until: '14:00', zone: Europe/Berlin } }", {}, { at: "2026-11-15T13:30:00Z" }],
  ["{ not: { tool_name_matches: [bash] } }", { tool: "ls" }, { tool: "bash" }],
  ["{ any_of: [{ user: bob }, { tool_name_matches: [ls] }] }", { tool: "ls" }, { tool: "bash" }],
  ["{ depth: { at_least: 1 } }", { subject: { depth: 1 } }, {}],
  ["{ depth: { at_most: 1 } }", {}, { subject: { depth: 2 } }],
  ["{ sensitivity: high }", { tool: "deploy" }, { tool: "ls" }],
  ["{ lacks_scopes: true }", { tool: "deploy" }, { tool: "deploy", subject: { scopes: ["prod"] } }],
  ["{ lacks_scopes: false }", { tool: "ls" }, { tool: "deploy" }],
  ["{ network: [off, hosts] }", { subject: { network: "hosts" } }, { subject: { network: "open" } }],
  ["{ network: open }", {}, { subject: { network: "off" } }],
  ["{ origin: client }", { subject: { origin: "client" } }, {}],
  ["{ origin: agent }", {}, { subject: { origin: "client" } }],
  ["{ graph: true }", { subject: { graph: GRAPH } }, {}],
  ["{ graph: false }", {}, { subject: { graph: GRAPH } }],
  [
    "{ graph: { executor: 'service:*' } }",
    { subject: { graph: GRAPH } },
    { subject: { graph: { ...GRAPH, executor: "tool:search" } } },
  ],
  [
    "{ graph: { action: close_* } }",
    { subject: { graph: GRAPH } },
    { subject: { graph: { ...GRAPH, action: "open_ticket" } } },
  ],
  [
    "{ graph: { operation: close } }",
    { subject: { graph: GRAPH } },
    { subject: { graph: { ...GRAPH, operation: "open" } } },
  ],
  ["{ opaque: true }", { opaque: true }, {}],
  ["{ harmless: true }", { effects: [write("/w/a")] }, { effects: [read("home")] }],
  ["{ harmless: false }", { effects: [net("x")] }, {}],
  ["{ any_of: [{ user: bob }, { not: { mode: default } }] }", { subject: { mode: "plan" } }, {}],
];

/** Of everything that is asked of paths, for what is read, for what is written and for both. */
const PATH_CASES: readonly Case[] = [
  [
    "{ paths: { every: { place: workspace } } }",
    { effects: [read("workspace"), net("x")] },
    { effects: [read("home"), write("/w/a")] },
  ],
  [
    "{ paths: { every: { match: 'src/**' } } }",
    { effects: [write("/w/src/a")] },
    { effects: [write("/w/src/a"), read("workspace", "lib/a")] },
  ],
  [
    "{ paths: { every: { destroys: false } } }",
    { effects: [read("home"), write("/w/a")] },
    { effects: [write("/w/a", true)] },
  ],
  [
    "{ paths: { any: { place: home } } }",
    { effects: [write("/w/a"), read("home")] },
    { effects: [write("/w/a"), net("x")] },
  ],
  [
    "{ paths: { any: { destroys: true } } }",
    { effects: [read("home"), write("/w/a", true)] },
    { effects: [read("home")] },
  ],
  [
    "{ reads: { every: { match: ['src/*', 'lib/*'] } } }",
    { effects: [read("workspace", "lib/a"), write("/w/x")] },
    { effects: [read("workspace", "x/a")] },
  ],
  [
    "{ reads: { every: { destroys: true } } }",
    { effects: [write("/w/a")] },
    { effects: [read("workspace")] },
  ],
  [
    "{ reads: { any: { place: [home, unknown] } } }",
    { effects: [read("unknown")] },
    { effects: [read("workspace")] },
  ],
  [
    "{ reads: { any: { match: 'src/**' } } }",
    { effects: [read("workspace", "src/a")] },
    { effects: [write("/w/src/a")] },
  ],
  [
    "{ paths: { every: { passing: false } } }",
    { effects: [read("home"), write("/w/a")] },
    { effects: [read("home"), passing(read("home"))] },
  ],
  [
    "{ paths: { any: { passing: true } } }",
    { effects: [write("/w/a"), passing(read("home"))] },
    { effects: [write("/w/a"), read("home")] },
  ],
  [
    "{ reads: { every: { passing: true } } }",
    { effects: [passing(read("home"))] },
    { effects: [read("home")] },
  ],
  [
    "{ reads: { any: { passing: false } } }",
    { effects: [passing(read("home")), read("home")] },
    { effects: [passing(read("home"))] },
  ],
  ["{ writes: { every: { passing: true } } }", { effects: [read("home")] }, { effects: [write("/w/a")] }],
  ["{ writes: { any: { passing: false } } }", { effects: [write("/w/a")] }, { effects: [read("home")] }],
  ["{ reads: { any: { destroys: false } } }", { effects: [read("home")] }, { effects: [write("/w/a")] }],
  [
    "{ writes: { every: { place: workspace } } }",
    { effects: [write("/w/a"), read("home")] },
    { effects: [{ ...write("/h/a"), place: "home" }] },
  ],
  [
    "{ writes: { every: { match: 'src/**' } } }",
    { effects: [write("/w/src/a"), read("home")] },
    { effects: [write("/w/lib/a")] },
  ],
  [
    "{ writes: { every: { destroys: false } } }",
    { effects: [write("/w/a")] },
    { effects: [write("/w/a"), write("/w/b", true)] },
  ],
  [
    "{ writes: { any: { place: workspace } } }",
    { effects: [write("/w/a")] },
    { effects: [read("workspace")] },
  ],
  [
    "{ writes: { any: { match: 'db/migrations/**' } } }",
    { effects: [write("/w/db/migrations/7.sql")] },
    { effects: [write("/w/db/seed.sql")] },
  ],
];

const lost = (effect: WriteEffect): Effect => ({ ...effect, destroys: true, recoverable: false });
const outside: Effect = { kind: "write", path: "/h/a", place: "home", destroys: false };

/** Of what is asked of paths beside where they lie. */
const SUCH_CASES: readonly Case[] = (["every", "any"] as const).flatMap((which): Case[] => [
  [
    `{ paths: { ${which}: { except: 'src/**' } } }`,
    { effects: [write("/w/lib/a")] },
    { effects: [write("/w/src/a")] },
  ],
  [
    `{ reads: { ${which}: { except: 'src/**' } } }`,
    { effects: [{ kind: "read", path: "/w/lib/a", inside: "lib/a", place: "workspace" }] },
    { effects: [{ kind: "read", path: "/w/src/a", inside: "src/a", place: "workspace" }] },
  ],
  [
    `{ writes: { ${which}: { except: ['src/**', 'docs/*'] } } }`,
    { effects: [write("/w/docs/deep/a")] },
    { effects: [write("/w/docs/a")] },
  ],
  [`{ paths: { ${which}: { inside: true } } }`, { effects: [write("/w/a")] }, { effects: [outside] }],
  [`{ writes: { ${which}: { inside: false } } }`, { effects: [outside] }, { effects: [write("/w/a")] }],
  [
    `{ reads: { ${which}: { inside: true } } }`,
    { effects: [{ kind: "read", path: "/w/a", inside: "a", place: "workspace" }] },
    { effects: [{ kind: "read", path: "/h/a", place: "home" }] },
  ],
  [
    `{ paths: { ${which}: { recoverable: false } } }`,
    { effects: [lost(write("/w/a"))] },
    { effects: [write("/w/a", true)] },
  ],
  [
    `{ writes: { ${which}: { recoverable: true } } }`,
    { effects: [write("/w/a", true)] },
    { effects: [lost(write("/w/a"))] },
  ],
  [
    `{ reads: { ${which}: { recoverable: true } }, writes: { ${which}: { inside: true } } }`,
    { effects: [read("home"), write("/w/a")] },
    { effects: [read("home"), outside] },
  ],
]);

/** What touches everything below a path, as `rm -r` does. */
const DEEP_CASES: readonly Case[] = [
  [
    "{ writes: { any: { match: 'db/migrations/**' } } }",
    { effects: [deep(write("/w/db", true))] },
    { effects: [write("/w/db", true)] },
  ],
  [
    "{ writes: { any: { match: 'db/migrations/**' } } }",
    { effects: [deep(write("/w/db/migrations"))] },
    { effects: [deep(write("/w/src"))] },
  ],
  [
    "{ paths: { any: { match: '**/*.pem' } } }",
    { effects: [deep(read("workspace", "src"))] },
    { effects: [read("workspace", "src")] },
  ],
  [
    "{ paths: { any: { match: /etc/ssl/** } } }",
    { effects: [deep({ kind: "read", path: "/", place: "system" })] },
    { effects: [deep({ kind: "read", path: "/usr", place: "system" })] },
  ],
  [
    "{ reads: { any: { match: 'db/**', place: workspace } } }",
    { effects: [deep(read("workspace", "db/a"))] },
    { effects: [deep({ ...read("home", "db/a") })] },
  ],
  [
    "{ reads: { any: { match: /srv/keys/**, place: credentials } } }",
    { effects: [deep({ kind: "read", path: "/srv", place: "system" })] },
    { effects: [{ kind: "read", path: "/srv", place: "system" }] },
  ],
  [
    "{ writes: { any: { match: 'db/**', destroys: true } } }",
    { effects: [deep(write("/w/db", true))] },
    { effects: [deep(write("/w/db"))] },
  ],
  [
    "{ writes: { every: { match: 'src/**' } } }",
    { effects: [deep(write("/w/src"))] },
    { effects: [deep(write("/w/"))] },
  ],
  [
    "{ writes: { every: { match: '*' } } }",
    { effects: [write("/w/src")] },
    { effects: [deep(write("/w/src"))] },
  ],
  [
    "{ not: { writes: { any: { match: 'db/**' } } } }",
    { effects: [deep(write("/w/src"))] },
    { effects: [deep(write("/w/"))] },
  ],
];

const at = (minute: number) => `2026-11-15T12:${String(minute).padStart(2, "0")}:00Z`;
const sent = (minute: number, more: Given = {}): Given => ({ tool: "send", at: at(minute), ...more });
const bob = { subject: { user: "bob", session: "s2" } };

const SEQUENCE_CASES: readonly Case[] = [
  [
    "{ count: { of: { tool_name_matches: [send] }, within: 10m, at_least: 2 } }",
    { before: [sent(0), sent(1)], at: at(2) },
    { before: [sent(0)], at: at(2) },
  ],
  [
    "{ count: { of: { tool_name_matches: [send] }, within: 10m, at_least: 1 } }",
    { before: [sent(0)], at: at(10) },
    { before: [sent(0)], at: at(11) },
  ],
  [
    "{ count: { of: {}, within: 10m, at_least: 1, by: user } }",
    { before: [sent(0, { subject: { session: "s2" } })], at: at(1) },
    { before: [sent(0, bob)], at: at(1) },
  ],
  [
    "{ count: [{ of: {}, within: 10m, at_least: 1 }, { of: { tool_name_matches: [ls] }, within: 10m, at_least: 1 }] }",
    { before: [sent(0, { tool: "ls" })], at: at(1) },
    { before: [sent(0)], at: at(1) },
  ],
  [
    "{ after: { of: { tool_name_matches: [send] } } }",
    { before: [sent(0)], at: at(59) },
    { before: [sent(0, { tool: "ls" })], at: at(59) },
  ],
  ["{ after: { of: {}, within: 10m } }", { before: [sent(0)], at: at(9) }, { before: [sent(0)], at: at(11) }],
  [
    "{ after: { of: {}, by: tenant } }",
    { before: [sent(0, bob)], at: at(1) },
    { before: [sent(0, { subject: { tenant: "other" } })], at: at(1) },
  ],
  [
    "{ after: [{ of: {}, by: agent }, { of: { event: pre_prompt } }] }",
    { before: [sent(0, { event: "pre_prompt" })], at: at(1) },
    { before: [sent(0)], at: at(1) },
  ],
];

const CASES = [...PLAIN_CASES, ...PATH_CASES, ...SUCH_CASES, ...DEEP_CASES, ...SEQUENCE_CASES];

describe("conditions", () => {
  test.each(CASES)("%s", (condition, match, miss) => {
    expect(holds(condition, match)).toBe(true);
    expect(holds(condition, miss)).toBe(false);
  });

  test("each member that a condition may have holds of something and does not hold of something else", () => {
    const tried = new Set(CASES.flatMap(([condition]) => membersIn(parse(condition))));
    const missing = membersOf(z.toJSONSchema(Condition, { io: "input" })).filter((name) => !tried.has(name));
    expect(missing).toEqual([]);
  });

  test("tools declare what they need and how sensitive they are", () => {
    const policy = policyOf(`
tools: { deploy: { scopes: [prod], sensitivity: high } }
tool_rules:
  - { name: unscoped, condition: { lacks_scopes: true }, verdict: blocked }
  - { name: high, condition: { sensitivity: high }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }`);
    const decide = (tool: string, scopes: string[]) =>
      policy.decide(input({ tool, subject: { scopes } })).rule;
    expect(decide("deploy", [])).toBe("unscoped");
    expect(decide("deploy", ["prod"])).toBe("high");
    expect(decide("ls", [])).toBe("rest");
  });

  test("Harn's lists are rules of their own, and what they do not name falls to the rules after them", () => {
    const policy = policyOf(`
tool_approval_policy: { auto_deny: ['rm*'], write_path_allowlist: ['src/**'], auto_approve: [read], require_approval: [edit] }
tool_rules: []`);
    const decide = (tool: string, effects: Effect[] = []) => policy.decide(input({ tool, effects })).verdict;
    expect(decide("rmdir")).toBe("blocked");
    expect(decide("read", [write("/w/lib/x")])).toBe("blocked");
    expect(decide("read", [write("/w/src/x")])).toBe("allowed");
    expect(decide("edit")).toBe("ask");
    expect(policy.decide(input({ tool: "other" }))).toMatchObject({
      verdict: "blocked",
      reason: "no matching policy rule",
    });
  });
});

describe("sequences", () => {
  const policy = policyOf(`
tool_rules:
  - name: too_many
    condition: { tool_name_matches: [send], count: { of: { tool_name_matches: [send] }, within: 10m, at_least: 2, by: user } }
    verdict: blocked
  - name: after_secrets
    condition: { tool_name_matches: [send], after: { of: { paths: { any: { place: home } } } } }
    verdict: ask
  - { name: rest, condition: {}, verdict: allowed }`);

  function play(history: History, given: Given): string | undefined {
    const now = Date.parse(given.at ?? at(0));
    const subject = { ...ann, ...given.subject };
    const counted = input({ ...given, counters: { ...history.counters(subject, now) } });
    const { verdict, rule } = policy.decide(counted);
    if (verdict === "allowed") history.note(counted);
    return rule;
  }

  test("count allowed actions of the rule's subjects within its time", () => {
    const history = new History(policy.sequences);
    const send = (minute: number, subject: Partial<Subject> = {}) =>
      play(history, { tool: "send", at: at(minute), subject });
    expect([send(0), send(1, { session: "s2" }), send(2), send(2)]).toEqual([
      "rest",
      "rest",
      "too_many",
      "too_many",
    ]);
    expect(send(2, { user: "bob" })).toBe("rest");
    expect(send(2, { tenant: "other" })).toBe("rest");
    expect(send(11)).toBe("rest");
  });

  test("count the same when the clock was set back meanwhile", () => {
    const history = new History(policy.sequences);
    for (const minute of [30, 20, 31]) history.note(input({ tool: "send", at: at(minute) }));
    const count = (minute: number) => history.counters(ann, Date.parse(at(minute)))["too_many#0"];
    expect([count(31), count(25), count(41), count(42)]).toEqual([2, 3, 1, 0]);
  });

  test("of two rules of one name count each on its own", () => {
    const twins = policyOf(`
tool_rules:
  - { name: ready, condition: { tool_name_matches: [deploy], after: { of: { tool_name_matches: [test] } } }, verdict: allowed }
  - { name: ready, condition: { tool_name_matches: [publish], after: { of: { tool_name_matches: [review] } } }, verdict: allowed }`);
    const history = new History(twins.sequences);
    history.note(input({ tool: "review" }));
    const counters = history.counters(ann, input({}).at);
    const verdict = (tool: string) => twins.decide(input({ tool, counters })).verdict;
    expect([verdict("publish"), verdict("deploy")]).toEqual(["allowed", "blocked"]);
  });

  test("know what came before in the session", () => {
    const history = new History(policy.sequences);
    expect(play(history, { tool: "send" })).toBe("rest");
    expect(play(history, { tool: "read", effects: [read("home")] })).toBe("rest");
    expect(play(history, { tool: "send", subject: { user: "bob" } })).toBe("after_secrets");
    expect(play(history, { tool: "send", subject: { user: "bob", session: "s2" } })).toBe("rest");
  });
});

describe("an explanation", () => {
  test("names the rule that matched and what failed in the ones before it", () => {
    const policy = policyOf(`
tool_rules:
  - { name: a, condition: { user: bob, tool_name_matches: [bash] }, verdict: blocked }
  - { name: b, condition: { tool_name_matches: [bash] }, verdict: ask, reason: careful }
  - { name: c, condition: {}, verdict: allowed }`);
    const tool = { clause: "tool_name_matches", asked: ["bash"] };
    const user = { clause: "user", asked: "bob" };
    expect(explainedBy(policy, input({})).rules).toEqual([
      { rule: "a", verdict: "blocked", matched: false, held: [tool], failed: [user] },
      { rule: "b", verdict: "ask", matched: true, held: [tool], failed: [] },
    ]);
  });
});

describe("a bad file", () => {
  const fails = (rules: string) => {
    try {
      policyOf(rules);
    } catch (error) {
      return error instanceof Error ? error.message : "";
    }
    return "loaded";
  };

  test("is refused with line and column", () => {
    expect(fails("tool_rules:\n  - { name: a, verdict: maybe }")).toMatch(
      /^constitution\.yaml:2:\d+: tool_rules\.0\.verdict: /,
    );
    expect(
      fails("tool_rules:\n  - name: a\n    condition: { tool_nam_matches: [x] }\n    verdict: allowed"),
    ).toMatch(/^constitution\.yaml:3:\d+: /);
    expect(fails("tool_rules: [")).toMatch(/^constitution\.yaml:1:\d+: /);
    expect(fails("tool_rules: []\ntool_rules: []")).toMatch(/^constitution\.yaml:2:1: /);
    expect(fails("")).toContain("tool_rules");
  });

  test("is refused when one of its own tests fails", () => {
    const text = fails(`
tool_rules: [{ name: a, condition: {}, verdict: ask }]
tests: [{ name: must pass, given: { tool: x }, expect: allowed }]`);
    expect(text).toBe('constitution.yaml: test "must pass": expected allowed, got ask by rule "a"');
  });
});

test("the default constitution passes its own tests", () => {
  expect(shipped("default").file.tests.length).toBeGreaterThan(8);
});

/** The dotted names of all members that an object may have, those of conditions within it left aside. */
function membersOf(schema: z.core.JSONSchema.BaseSchema, path = ""): string[] {
  const inner = [schema.items, ...(schema.anyOf ?? [])].filter((one) => isSchema(one));
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const full = path === "" ? name : `${path}.${name}`;
    return [full, ...(isSchema(member) && !WITH_CONDITIONS.has(name) ? membersOf(member, full) : [])];
  });
  return [...new Set([...own, ...inner.flatMap((one) => membersOf(one, path))])];
}

/** The dotted names of the members that an object has. */
function membersIn(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => membersIn(item, path));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const full = path === "" ? name : `${path}.${name}`;
    return [full, ...(WITH_CONDITIONS.has(name) ? [] : membersIn(member, full))];
  });
}

const WITH_CONDITIONS = new Set(["of", "not", "any_of"]);

function isSchema(value: unknown): value is z.core.JSONSchema.BaseSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
