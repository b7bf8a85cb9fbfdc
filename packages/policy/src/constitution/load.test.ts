import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { inputOf } from "../../test/recorded.ts";
import { defaultFile, loadPolicy, loadTestedPolicy, PolicyError } from "./load.ts";

const text = (rules: string) => ({ file: "c.yaml", rules, prose: new Uint8Array() });

/** What a file is refused with, a line for each fault. */
function refusal(rules: string): readonly string[] {
  try {
    loadPolicy(text(rules));
    return [];
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return error.message.split("\n");
  }
}

const rule = (members: string) => `tool_rules:\n  - name: r\n    verdict: allowed\n${members}`;
const condition = (members: string) => rule(`    condition: { ${members} }`);

/** Each line stands for nine of the one before. */
const ALIASES = `tool_rules: []
x0: &a0 [x]
${Array.from({ length: 9 }, (_, index) => `x${index + 1}: &a${index + 1} [${`*a${index},`.repeat(9)}]`).join("\n")}`;

describe("a file that is no constitution", () => {
  const rows: readonly (readonly [string, string, RegExp])[] = [
    ["nothing", "", /^c\.yaml.*tool_rules: is missing/],
    ["a text", "hello", /^c\.yaml:1:1: /],
    ["a list", "- a", /^c\.yaml:1:1: /],
    ["an open list", "tool_rules: [", /^c\.yaml:1:\d+: /],
    ["a tab for a blank", "tool_rules:\n\t- a", /^c\.yaml:2:1: /],
    ["a member twice", "tool_rules: []\ntool_rules: []", /^c\.yaml:2:1: /],
    ["an unknown member", "tool_rules: []\nrules: []", /^c\.yaml:2:1: there is no member "rules"/],
    ["a member that objects lose", "tool_rules: []\n__proto__: 1", /^c\.yaml:2:1: no member can be called/],
    ["rules that are none", "tool_rules: 5", /^c\.yaml:1:13: tool_rules: /],
    [
      "a rule without a name",
      "tool_rules:\n  - verdict: ask",
      /^c\.yaml:2:5: tool_rules\.0\.name: is missing/,
    ],
    [
      "a rule without a verdict",
      "tool_rules:\n  - name: a",
      /^c\.yaml:2:5: tool_rules\.0\.verdict: is missing/,
    ],
    ["an empty name", 'tool_rules:\n  - { name: "", verdict: ask }', /^c\.yaml:2:\d+: tool_rules\.0\.name: /],
    [
      "an unknown verdict",
      "tool_rules:\n  - { name: a, verdict: no }",
      /must be one of allowed, blocked, ask/,
    ],
    ["an unknown anchor", "tool_rules: *a", /^c\.yaml:1:13: \*a is set nowhere before it/],
    ["aliases without measure", ALIASES, /^c\.yaml: /],
  ];
  test.each(rows)("%s", (_, rules, message) => {
    expect(refusal(rules)[0]).toMatch(message);
  });

  it("is refused with every fault, each at its place", () => {
    const faults = refusal("tool_rules:\n  - { name: a }\n  - { verdict: ask }\nlimit: 5");
    expect(faults).toHaveLength(3);
    expect(faults.map((line) => line.split(":")[1])).toEqual(expect.arrayContaining(["2", "3", "4"]));
  });

  it("names its faults and code to programs", () => {
    try {
      loadPolicy(text("tool_rules: 5"));
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: "invalid_policy", faults: [{ place: { line: 1, column: 13 } }] });
    }
  });
});

describe("a condition that could never be what its writer means", () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ["tool_name_matches: bash", /tool_name_matches: /],
    ["tool_name_matches: []", /tool_name_matches: /],
    ["tool_name_matches: ['^bash$']", /no regular expressions/],
    ["tool_name_matches: ['bash|sh']", /no regular expressions/],
    ["tool_name_matches: [' bash']", /begins or ends with a blank/],
    ["tool_name_matches: ['']", /tool_name_matches\.0: /],
    ["agent: 'b\u0430sh'", /mixes letters of two scripts/],
    ["user: 'a\u200bb'", /cannot be seen/],
    ["agent_trust: trusted", /must be one of unknown, registered, standing/],
    ["event: pre_tool", /no control event is called so/],
    ["started: now", /must be one of/],
    ["network: none", /must be one of/],
    ["depth: {}", /at_least or at_most/],
    ["depth: { at_least: 3, at_most: 1 }", /no depth is so/],
    ["depth: { at_most: -1 }", /no depth is so/],
    ["depth: 3", /depth: /],
    ["effects: {}", /say every/],
    ["effects: { every: [] }", /name at least one/],
    ["effects: { any: [delete] }", /must be one of read, write, exec, net/],
    ["effects: [read]", /effects: /],
    ["paths: { every: {} }", /say what the path must be/],
    ["paths: { any: { place: desk } }", /must be one of unknown, harness/],
    ["reads: { any: { match: '~/x' } }", /~ and variables mean nothing/],
    ["reads: { any: { match: '$HOME/x' } }", /~ and variables mean nothing/],
    ["reads: { any: { match: '../x' } }", /\.\. leads nowhere/],
    ["reads: { any: { match: '^src' } }", /no regular expression/],
    ["reads: { any: { match: 'a[b' } }", /never closed/],
    ["reads: { any: { match: '!(a)' } }", /extended globs/],
    ["reads: { any: { match: '[[:alpha:]]' } }", /classes such as/],
    ["writes: { every: { destroys: yes } }", /destroys: /],
    ["commands: { any: 'a && b' }", /words of one program/],
    ["commands: { any: 'a | b' }", /words of one program/],
    ["hosts: { any: 'https://a.com' }", /bare name/],
    ["hosts: { any: 'a.com:80' }", /bare name/],
    ["hosts: { any: '.a.com' }", /write \*\.a\.com/],
    ["hosts: { any: 'bücher.de' }", /xn--/],
    ["arguments: {}", /name a member of the arguments/],
    ["arguments: { 'a..b': x }", /between any two dots/],
    ["arguments: { a: '^x' }", /no regular expressions/],
    ["time: {}", /say from, until or days/],
    ["time: { from: '25:00' }", /between 00:00 and 24:00/],
    ["time: { from: '9:00' }", /from: /],
    ["time: { from: '09:00', until: '09:00' }", /the same time/],
    ["time: { days: [monday] }", /must be one of mon/],
    ["time: { from: '09:00', zone: Berlin }", /no such time zone/],
    ["any_of: []", /any_of: /],
    ["not: {}", /holds always/],
    ["count: { of: {}, within: 5, at_least: 1 }", /within: /],
    ["count: { of: {}, within: 0m, at_least: 1 }", /more than nothing/],
    ["count: { of: {}, within: 99999d, at_least: 1 }", /at most 10,000 days/],
    ["count: { of: {}, within: 5m, at_least: 0 }", /at_least: /],
    ["after: { of: {}, by: group }", /must be one of session, user, agent, tenant/],
    ["sensitivity: high", /no tool is declared/],
    ["tool: bash", /there is no member "tool"/],
  ];
  test.each(rows)("%s", (members, message) => {
    const [first = ""] = refusal(condition(members));
    expect(first).toMatch(message);
    // The place is in the condition's line.
    expect(first).toMatch(/^c\.yaml:4:\d+: tool_rules\.0\.condition/);
  });
});

describe("a rule whose members contradict each other", () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ["verdict: modify", /a patch if, and only if/],
    ["verdict: allowed, patch: { a: 1 }", /a patch if, and only if/],
    ["verdict: modify, patch: {}", /names members of the arguments/],
    ["verdict: modify, patch: { 'a..b': 1 }", /names members of the arguments/],
    ["verdict: modify, patch: { constructor.x: 1 }", /names members of the arguments/],
    ["verdict: allowed, approvers: [a]", /approvers and four_eyes/],
    ["verdict: blocked, four_eyes: true", /approvers and four_eyes/],
    ["verdict: allowed, quorum: 2", /quorum goes with the verdict ask/],
    ["verdict: ask, quorum: 0", /quorum: /],
    ["verdict: allowed, expires: 5m", /expires goes with the verdict ask/],
    ["verdict: ask, retry_after: 5m", /retry_after goes with the verdict defer/],
    ["verdict: defer, retry_after: soon", /a length of time is a number/],
    ["verdict: ask, approvers: []", /approvers: /],
  ];
  test.each(rows)("%s", (members, message) => {
    expect(refusal(`tool_rules:\n  - { name: r, ${members} }`).join("\n")).toMatch(message);
  });
});

describe("the rest of a file", () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ["limits: [{ name: l, per: user }]", /a limit says how much/],
    ["limits: [{ name: l, per: everybody, calls: 1 }]", /must be one of session/],
    ["limits: [{ name: l, per: user, calls: -1 }]", /calls: /],
    ["limits: [{ name: l, per: user, calls: 1.5 }]", /calls: /],
    ["limits: [{ name: l, per: user, calls: 1, exceeded: allowed }]", /must be one of blocked, ask, defer/],
    ["limits: [{ per: user, calls: 1 }]", /name: is missing/],
    ["harnesses: [{ name: h, url: 'ftp://a' }]", /http:, https:, ws:, wss: or unix:/],
    ["harnesses: [{ name: h, url: 'https://u:p@a' }]", /token_file/],
    ["harnesses: [{ name: h, url: 'https://a' }, { name: h, url: 'https://b' }]", /two harnesses are called/],
    ["harnesses: [{ name: h, url: 'https://a', fail: maybe }]", /must be one of closed, open/],
    ["tools: { 'a*': {} }", /declared by its full name/],
    ["tools: { a: { scope: [x] } }", /there is no member "scope"/],
    ["tool_approval_policy: { auto_deny: bash }", /auto_deny: /],
    ["tests: [{ name: t, given: {}, expect: ask }]", /tool: is missing/],
    ["tests: [{ name: t, given: { tool: x, command: ls, opaque: true }, expect: ask }]", /not both/],
    [
      "tests: [{ name: t, given: { tool: x, effects: [{ kind: read, host: h }] }, expect: ask }]",
      /no member "host"/,
    ],
  ];
  test.each(rows)("%s", (members, message) => {
    const [first = ""] = refusal(`tool_rules: []\n${members}`);
    expect(first).toMatch(message);
    expect(first).toMatch(/^c\.yaml:2:\d+: /);
  });

  it("is refused when one of its own tests gets another verdict", async () => {
    const rules = (expected: string, more = "") =>
      `tool_rules: [{ name: r, condition: { tool_name_matches: [ls] }, verdict: allowed }]
tests: [{ name: t, given: { tool: ls${more} }, expect: ${expected} }]`;
    expect(refusal(rules("allowed"))).toEqual([]);
    expect(refusal(rules("ask"))).toEqual(['c.yaml: test "t": expected ask, got allowed by rule "r"']);
    // What a command does is only found out by the load that may take its time.
    expect(refusal(rules("ask", ", command: ls"))).toEqual([]);
    await expect(loadTestedPolicy(text(rules("ask", ", command: ls")))).rejects.toThrow(/expected ask/);
  });

  it("is refused when it has more rules than can be compared", () => {
    const rules = Array.from({ length: 2_001 }, (_, index) => `  - { name: r${index}, verdict: ask }`);
    expect(refusal(`tool_rules:\n${rules.join("\n")}`)[0]).toMatch(/at most 2000 rules/);
  });
});

describe("the files that come along", () => {
  test.each(["default.yaml", "haak.yaml"] as const)("%s can be used as it is", async (name) => {
    const rules = readFileSync(defaultFile(name), "utf8");
    const policy = await loadTestedPolicy({ file: name, rules, prose: new Uint8Array() });
    expect(policy.rules.length).toBeGreaterThan(2);
    const input = inputOf({ tool: "no-such-tool", effects: [{ kind: "net", host: "example.com" }] });
    expect(policy.decide({ ...input, subject: { ...input.subject, trust: "unknown" } }).verdict).toBe(
      "blocked",
    );
  });
});

test("the same text gives every tenant the same constitution, which none can change", () => {
  const rules = readFileSync(defaultFile("default.yaml"), "utf8");
  const { file } = loadPolicy(text(rules));
  expect(loadPolicy(text(rules)).file).toBe(file);
  expect(() => file.tool_rules.pop()).toThrow(TypeError);
  expect(() => Object.assign(Object(file.tool_rules[0]).condition, { user: "ann" })).toThrow(TypeError);
  expect(loadPolicy(text(`${rules}\n`)).file).not.toBe(file);
});
