import { describe, expect, it } from "vitest";
import { checkConstitution } from "../backtest/check.ts";

async function faultsOf(rules: string): Promise<string> {
  const { faults } = await checkConstitution({ file: "c.yaml", rules, prose: Buffer.from("x") });
  return faults.map(({ message }) => message).join("\n");
}

const rule = (condition: string, more = "verdict: blocked") =>
  `tool_rules:\n  - { name: r, condition: ${condition}, ${more} }\n`;

/** A rule that stops something and says what never is stops nothing: it is refused, with what to do. */
const NEVER: readonly (readonly [string, string])[] = [
  ["{ not: {} }", "holds always"],
  ["{ any_of: [{ not: {} }] }", "holds always"],
  ["{ commands: {} }", "say every"],
  ["{ writes: { any: {} } }", "what the path must be"],
  ["{ effects: { any: [] } }", "name at least one"],
  ["{ arguments: {} }", "name a member"],
  ["{ depth: {} }", "at_least"],
  ["{ depth: { at_least: 3, at_most: 1 } }", "no depth is so"],
  ["{ depth: { at_most: -1 } }", "no depth is so"],
  ["{ time: {} }", "from, until or days"],
  ["{ time: { zone: UTC } }", "from, until or days"],
  ['{ time: { from: "25:00" } }', "between 00:00 and 24:00"],
  ['{ time: { from: "12:60" } }', "between 00:00 and 24:00"],
  ['{ time: { from: "09:00", until: "09:00" } }', "the same time"],
  ...['"^Bash$"', '"/Bash/i"', '"Bash|Edit"', '"(Bash)"', '"Ba.*"'].map(
    (name) => [`{ tool_name_matches: [${name}] }`, "no regular expressions"] as const,
  ),
  ['{ agent: "^claude" }', "no regular expressions"],
  ...['"npm test && rm x"', '"a | b"', '"a; b"', '"a > b"', '"$(a)"'].map(
    (command) => [`{ commands: { any: [${command}] } }`, "words of one program"] as const,
  ),
  ['{ commands: { any: ["  "] } }', "empty"],
  ['{ commands: { any: ["npm\\u00a0test"] } }', "cannot be seen"],
  ['{ commands: { any: ["r\\u200bm"] } }', "cannot be seen"],
  ['{ user: "ann " }', "blank"],
  ['{ user: "a\\u202enn" }', "cannot be seen"],
  ['{ agent: "cl\\u0430ude" }', "look alike"],
  ['{ role: ["\\u0430dmin"] }', "look alike"],
  ['{ hosts: { any: ["ex\\u0430mple.com"] } }', "ASCII"],
  ['{ hosts: { any: [".example.com"] } }', "write *.example.com"],
  ...['"~/x/**"', '"$HOME/**"', '"!~/x"', `"\${HOME}/x"`].map(
    (glob) => [`{ writes: { any: { match: ${glob} } } }`, "mean nothing in a glob"] as const,
  ),
  ['{ writes: { any: { match: "../x/**" } } }', "leads nowhere"],
  ['{ writes: { any: { match: "^src/.*$" } } }', "no regular expression"],
  ['{ writes: { any: { match: "src/[a" } } }', "never closed"],
  ['{ writes: { any: { place: workspace, except: "~/x" } } }', "mean nothing in a glob"],
  ...["pre_actoin", "Pre_Action", "pre-action", "tool_call", '"pre*n_"', '""', '" pre_action"'].map(
    (event) => [`{ event: ${event} }`, "no control event"] as const,
  ),
  ["{ event: [pre_action, pre_promt] }", "no control event"],
  ...["high", '"h*"', '[low, ""]'].map((name) => [`{ sensitivity: ${name} }`, ""] as const),
  ...[
    '"^rm "',
    '"rm$"',
    '"/rm/i"',
    '"/rm.*/"',
    '"rm\\\\s+-rf"',
    '".*rm.*"',
    '"rm.+"',
    '"(?:a|b)"',
    '"[a-z]+"',
  ].map((text) => [`{ arguments: { command: ${text} } }`, "no regular expressions"] as const),
  ['{ arguments: { a..b: "x" } }', "between any two dots"],
  ['{ arguments: { "": "x" } }', "between any two dots"],
  ["{ arguments: { __proto__: x } }", "__proto__"],
];

describe("a rule that says what never is", () => {
  it.each(NEVER)("is refused: %s", async (condition, why) => {
    expect(await faultsOf(rule(condition))).toContain(why);
    expect(await faultsOf(rule(condition))).not.toBe("");
    expect(await faultsOf(rule(`{ any_of: [${condition}] }`))).not.toBe("");
  });

  it.each([
    "{ tool_name_matches: [session/set_mode, mcp__*, Bash] }",
    '{ user: "ann@example.com", role: ["Größe", админ] }',
    '{ commands: { any: ["git push --force", ./build.sh, "npm run test:unit"] } }',
    '{ hosts: { any: ["*.Example.com", "xn--bcher-kva.example", "::1"] } }',
    '{ writes: { any: { match: [".env.*", "src/**", "/etc/**", "a[0-9].ts", "{a,b}/*.ts", "./x"] } } }',
    '{ time: { from: "22:00", until: "06:00" } }',
    '{ time: { until: "24:00" } }',
    "{ not: { not: { agent: claude } } }",
    '{ event: [pre_action, "post_*", "*"] }',
    '{ sensitivity: "*" }',
    '{ arguments: { a.b: ["/etc/hosts", "/usr/bin/", "a | b", "f(x)", "C:\\\\dir", "*.ts", ".env.*", "US$ 5", "a?"] } }',
    "{ depth: { at_least: 1, at_most: 1 } }",
  ])("is not this one: %s", async (condition) => expect(await faultsOf(rule(condition))).toBe(""));
});

describe("a sensitivity", () => {
  const tools = "tools: { deploy: { sensitivity: high }, ls: { sensitivity: low } }\n";
  const forms = (name: string) => [
    rule(`{ sensitivity: ${name} }`),
    rule(`{ sensitivity: [high, ${name}] }`),
    rule(`{ not: { sensitivity: ${name} } }`),
    rule(`{ any_of: [{ agent: a }, { not: { sensitivity: ${name} } }] }`),
    rule(`{ count: { of: { sensitivity: ${name} }, within: 1h, at_least: 2 } }`),
    rule(`{ after: [{ of: { sensitivity: ${name} } }] }`),
    `${rule("{}")}limits: [{ name: l, per: user, calls: 5, condition: { sensitivity: ${name} } }]\n`,
  ];

  it("is one that a tool is declared with, wherever it occurs", async () => {
    for (const text of forms("hihg")) expect(await faultsOf(text + tools)).toContain('sensitivity "hihg"');
    for (const name of ["high", '"*w"'])
      for (const text of forms(name)) expect(await faultsOf(text + tools)).toBe("");
  });
});

describe("what is taken, and most likely a mistake", () => {
  async function remarksOn(rules: string): Promise<string> {
    const { faults, remarks } = await checkConstitution({ file: "c.yaml", rules, prose: Buffer.from("x") });
    expect(faults).toEqual([]);
    return remarks.map(({ message }) => message).join("\n");
  }

  it.each([
    "{ agent: a, not: { agent: a } }",
    "{ agent: a, user: u, not: { user: u, agent: a } }",
    "{ harmless: true, opaque: true }",
    "{ effects: { every: [read], any: [write] } }",
    '{ effects: { every: [read, write] }, commands: { any: ["rm *"] } }',
    "{ effects: { every: [exec] }, writes: { any: { place: system } } }",
    "{ effects: { every: [exec] }, hosts: { any: [a.example] } }",
    '{ writes: { every: { match: "src/**", except: ["src/**", "x"] } } }',
    "{ any_of: [{ harmless: true, opaque: true }, { agent: a, not: { agent: a } }] }",
  ])("is remarked on: a rule that never matches, %s", async (condition) => {
    expect(await remarksOn(rule(condition))).toContain('rule "r" can never match');
  });

  it.each([
    "{ agent: a, not: { agent: a, user: u } }",
    "{ agent: [a, b], not: { agent: a } }",
    "{ effects: { every: [read, write], any: [write] } }",
    "{ effects: { every: [read], any: [read, write] } }",
    '{ writes: { every: { match: "src/**", except: "src/a/**" } } }',
    "{ any_of: [{ harmless: true, opaque: true }, { agent: a }] }",
  ])("is not %s", async (condition) => expect(await remarksOn(rule(condition))).toBe(""));

  it.each([
    ["http://h.example/ahp", true],
    ["ws://10.0.0.1/ahp", true],
    ["http://localhost.example/ahp", true],
    ["http://127.0.0.1.example/ahp", true],
    ["https://h.example/ahp", false],
    ["wss://h.example/ahp", false],
    ["http://localhost:8080/ahp", false],
    ["ws://[::1]/ahp", false],
    ["http://127.0.0.2/ahp", false],
    ["unix:/run/h.sock", false],
  ])("is remarked on: a harness at %s is asked without encryption: %s", async (url, isRemarked) => {
    const remarks = await remarksOn(`${rule("{}")}harnesses: [{ name: h, url: "${url}" }]\n`);
    expect(remarks.includes("without encryption")).toBe(isRemarked);
  });

  it("is remarked on: auto_approve of everything", async () => {
    const lists = (name: string) => `${rule("{}")}tool_approval_policy: { auto_approve: [${name}] }\n`;
    for (const name of ['"*"', '"**"', 'read, "*"'])
      expect(await remarksOn(lists(name))).toContain("every tool");
    for (const name of ["read", '"mcp__*"']) expect(await remarksOn(lists(name))).not.toContain("every tool");
  });

  it("is remarked on: an argument that may be meant as a regular expression", async () => {
    expect(await remarksOn(rule('{ not: { arguments: { a: "rm.*-rf" } } }'))).toContain(
      "no regular expression",
    );
  });
});

describe("what a file says besides", () => {
  const base = rule("{}", "verdict: ask");

  it.each([
    ["limits: [{ name: l, per: user, within: 1h }]", "how much"],
    ["limits: [{ name: l, per: user, within: 0s, calls: 5 }]", "more than nothing"],
    ["limits: [{ name: l, per: user, within: 99999999999d, calls: 5 }]", "at most 10,000 days"],
    ["harnesses: [{ name: h, url: 'ftp://h.example' }]", "is asked at"],
    ["harnesses: [{ name: h, url: 'h.example' }]", "is asked at"],
    ["harnesses: [{ name: h, url: 'https://u:p@h.example' }]", "token_file"],
    ["harnesses: [{ name: h, url: 'https://h' }, { name: h, url: 'https://i' }]", "two harnesses"],
    ["tools: { __proto__: { sensitivity: high } }", "__proto__"],
    ["tools: { a: { scopes: [x] }, '__proto__': { scopes: [y] } }", "__proto__"],
    ["? __proto__\n: { tools: {} }", "__proto__"],
    ["tests: [{ name: t, given: { tool: x, event: pre_actoin }, expect: ask }]", "no control event"],
    ["tools: { 'deploy*': { sensitivity: high } }", "full name"],
    ["tool_approval_policy: { auto_deny: ['^rm$'] }", "no regular expressions"],
  ])("is refused where it would count for nothing: %s", async (more, why) => {
    expect(await faultsOf(`${base}${more}\n`)).toContain(why);
  });

  it("is refused where a rule changes nothing, or what no arguments have", async () => {
    for (const patch of ["{}", "{ __proto__.x: 1 }", "{ a.constructor.b: 1 }", "{ a..b: 1 }"])
      expect([patch, await faultsOf(rule("{}", `verdict: modify, patch: ${patch}`))]).not.toEqual([
        patch,
        "",
      ]);
  });

  it("is refused with tags that mean nothing here", async () => {
    expect(await faultsOf(rule("{}", "verdict: !allow ask"))).not.toBe("");
  });

  it("is refused at once with more rules than can be compared", async () => {
    const many = Array.from(
      { length: 5_000 },
      (_, at) => `  - { name: r${at}, condition: { agent: a${at} }, verdict: blocked }\n`,
    );
    expect(await faultsOf(`tool_rules:\n${many.join("")}`)).toContain("at most 2000 rules");
  });
});
