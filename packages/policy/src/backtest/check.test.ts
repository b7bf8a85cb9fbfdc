import { describe, expect, it } from "vitest";
import { checkConstitution } from "./check.ts";

const check = (rules: string) => checkConstitution({ file: "c.yaml", rules, prose: new Uint8Array() });

describe("a constitution that is looked through", () => {
  it("is fine when it would be taken", async () => {
    const { policy, faults, remarks, tests } = await check(`
tool_rules: [{ name: a, condition: {}, verdict: ask }]
tests: [{ name: t, given: { tool: x }, expect: ask, rule: a }]`);
    expect(policy?.rules).toHaveLength(1);
    expect({ faults, remarks }).toEqual({ faults: [], remarks: [] });
    expect(tests).toMatchObject([{ got: { verdict: "ask", rule: "a" }, fault: undefined }]);
  });

  it.each([
    ["tool_rules:\n  - { name: a, verdict: maybe }", { line: 2, column: 25 }, "verdict"],
    [
      "tool_rules:\n  - name: a\n    condition: { tool_nam_matches: [x] }\n    verdict: ask",
      { line: 3, column: 18 },
      'there is no member "tool_nam_matches"',
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, condition: { agent_trust: friend } }]",
      { line: 1, column: 65 },
      "must be one of unknown, registered, standing",
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, condition: { paths: { any: { place: [home, heaven] } } } }]",
      { line: 1, column: 82 },
      "place.1: must be one of unknown, harness",
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, condition: { time: { zone: Mars/Base } } }]",
      { line: 1, column: 66 },
      "time zone",
    ],
    ["tool_rules:\n  - name: a\n   verdict: ask\n", { line: 3, column: 1 }, "Sequence item"],
    ["tests: []", { line: 1, column: 1 }, "tool_rules: is missing"],
    [
      "tool_rules:\n  - { name: a, verdict: allowed, quorum: 2 }",
      { line: 2, column: 42 },
      "quorum goes with the verdict ask; this rule says allowed",
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, retry_after: 1h }]",
      { line: 1, column: 52 },
      "retry_after goes with the verdict defer",
    ],
    [
      'tool_rules: [{ name: a, verdict: ask, condition: { hosts: { every: ["https://example.com"] } } }]',
      { line: 1, column: 69 },
      "a host is a bare name",
    ],
    [
      "tool_rules: [{ name: a, verdict: ask, condition: { hosts: { any: example.com:443 } } }]",
      { line: 1, column: 66 },
      "a host is a bare name",
    ],
    [
      "tool_rules: []\ntests:\n  - { name: t, expect: ask, given: { tool: x, effects: [{ kind: exec, cmd: ls }] } }",
      { line: 3, column: 71 },
      'there is no member "cmd"',
    ],
    [
      "tool_rules: []\ntests: [{ name: t, expect: ask, given: { tool: x, effects: [{ kind: exec, args: [] }] } }]",
      { line: 2, column: 75 },
      'there is no member "args"',
    ],
    [
      "tool_rules: []\ntests: [{ name: t, expect: ask, given: { tool: x, command: ls, effects: [{ kind: net }] } }]",
      { line: 2, column: 60 },
      "give a command, or effects",
    ],
    [
      'tool_rules: [{ name: a, verdict: ask, condition: { writes: { any: { match: "x/+(a)" } } } }]',
      { line: 1, column: 76 },
      "extended globs",
    ],
  ])("%j is reported with its position", async (text, place, words) => {
    const { policy, faults } = await check(text);
    expect(policy).toBeUndefined();
    expect(faults[0]).toMatchObject({ place, message: expect.stringContaining(words) });
  });

  it("reports the positions of the examples that fail", async () => {
    const { faults, policy } = await check(`tool_rules: [{ name: a, condition: {}, verdict: ask }]
tests:
  - { name: good, given: { tool: x }, expect: ask }
  - { name: bad, given: { tool: x }, expect: allowed }
  - { name: wrong, given: { tool: x }, expect: ask, rule: b }`);
    expect(policy).toBeDefined();
    expect(faults).toEqual([
      { message: 'test "bad": expected allowed, got ask by rule "a"', place: { line: 4, column: 5 } },
      { message: 'test "wrong": expected rule "b", got ask by rule "a"', place: { line: 5, column: 5 } },
    ]);
  });

  it("reports probable mistakes", async () => {
    const { faults, remarks } = await check(`tool_rules:
  - { name: a, condition: {}, verdict: ask }
  - { name: b, condition: { user: x }, verdict: ask }
  - { name: b, condition: { user: y }, verdict: ask }`);
    expect(faults).toEqual([]);
    expect(remarks.map(({ message, place }) => [place?.line, message.slice(0, 30)])).toEqual([
      [3, 'rule "b" can never match: "a" '],
      [3, 'rule "b" can never match: "a" '],
      [4, 'two rules are called "b"; verd'],
    ]);
  });

  it.each([
    ["{}", "says nothing of what is done"],
    ["{ agent_trust: registered }", "says nothing of what is done"],
    ["{ commands: { any: [ls] } }", "any holds if one effect is so"],
    ["{ effects: { every: [read] } }", "anything be read"],
    ["{ effects: { every: [write] }, reads: { every: { place: workspace } } }", "anything be written"],
    ["{ effects: { every: [exec] } }", "any program run"],
    ["{ effects: { every: [net] }, commands: { every: [curl] } }", "any host"],
  ])("is remarked on where a rule allows more than it names: %s", async (condition, words) => {
    const { faults, remarks } = await check(
      `tool_rules:\n  - { name: r, condition: ${condition}, verdict: allowed }`,
    );
    expect(faults).toEqual([]);
    expect(remarks).toEqual([{ message: expect.stringContaining(words), place: { line: 2, column: 5 } }]);
    const asks = await check(`tool_rules:\n  - { name: r, condition: ${condition}, verdict: ask }`);
    expect(asks.remarks).toEqual([]);
  });

  it.each([
    "{ harmless: true }",
    "{ commands: { every: [npm test] } }",
    "{ hosts: { every: [example.com] } }",
    "{ opaque: false, effects: { every: [read] }, reads: { every: { place: workspace } } }",
    "{ event: pre_prompt }",
    "{ tool_name_matches: [read_file] }",
  ])("is not remarked on where a rule says what it allows: %s", async (condition) => {
    expect(
      (await check(`tool_rules: [{ name: r, condition: ${condition}, verdict: allowed }]`)).remarks,
    ).toEqual([]);
  });

  it("runs the tests that give a command on what the command does", async () => {
    const { tests } = await check(`
tool_rules:
  - { name: push, condition: { commands: { any: [git push] } }, verdict: blocked }
  - { name: lost, condition: { writes: { any: { recoverable: false } } }, verdict: ask }
  - { name: work, condition: { harmless: true }, verdict: allowed }
tests:
  - { name: a push, given: { tool: Bash, command: cd src && git push }, expect: blocked, rule: push }
  - { name: a look, given: { tool: Bash, command: ls -la src }, expect: allowed }
  - { name: a key, given: { tool: run_command, command: cat ~/.ssh/id_rsa }, expect: blocked }
  - { name: gone, given: { tool: Bash, command: rm -r src, files: [src/a.ts] }, expect: ask, rule: lost }
  - { name: not there, given: { tool: Bash, command: rm -r src }, expect: allowed }
  - { name: wrong, given: { tool: Bash, command: git push }, expect: allowed }`);
    expect(tests.map(({ fault }) => fault === undefined)).toEqual([true, true, true, true, true, false]);
  });
});
