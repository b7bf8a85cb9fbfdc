import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openDecidedHome } from "./support/decided-home.ts";
import { folder, runReins } from "./support/reins.ts";

const shipped = (name: string) =>
  fileURLToPath(new URL(`../../policy/constitutions/${name}`, import.meta.url));
const policy = (...args: string[]) => runReins(["policy", ...args], { REINS_HOME: join(folder, "home") });
const jsonOf = async (...args: string[]) => JSON.parse((await policy(...args, "--json")).stdout);

let count = 0;

async function draft(rules: string): Promise<string> {
  count += 1;
  const path = join(folder, `draft-${count}.yaml`);
  await writeFile(path, rules);
  return path;
}

const BAD = `tool_rules:
  - name: a
    condition: { tool_nam_matches: [x] }
    verdict: allowed
  - { name: b, verdict: perhaps }
`;

const FAILING = `tool_rules:
  - { name: all, condition: {}, verdict: ask }
tests:
  - { name: reading, given: { tool: read }, expect: ask }
  - { name: writing, given: { tool: write }, expect: allowed, rule: some }
`;

describe("reins policy check", () => {
  it("accepts a valid file", async () => {
    const file = shipped("haak.yaml");
    const { code, stdout, stderr } = await policy("check", file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/ is valid: 7 rules, 7 tests passed\.\n$/);
    // HAAK lets agents of the roster do whatever no rule before stops, and that is worth a remark.
    expect(stdout).toContain('remark: rule\n    "registered_agents" allows more than it names');
    expect((await policy("check", shipped("default.yaml"))).code).toBe(0);
  });

  it("shows what is wrong, where, and the line that it stands in", async () => {
    const file = await draft(BAD);
    const { code, stdout } = await policy("check", file);
    expect(code).toBe(1);
    expect(stdout).toContain(`${file}:3:18: tool_rules.0.condition:`);
    expect(stdout).toContain("  3 |     condition: { tool_nam_matches: [x] }\n    |                  ^\n");
    expect(stdout).toContain("  5 |   - { name: b, verdict: perhaps }\n    |                         ^\n");
    expect(stdout).toContain("2 faults: Reins would not accept this file.");
    expect(await jsonOf("check", file)).toMatchObject({
      fine: false,
      faults: [
        { line: 3, column: 18 },
        { line: 5, column: 25 },
      ],
    });
  });

  it("shows where the tests stand that fail", async () => {
    const { code, stdout } = await policy("check", await draft(FAILING));
    expect(code).toBe(1);
    expect(stdout).toContain(':5:5: test "writing":');
  });

  it("remarks on what is most likely a mistake, and takes it", async () => {
    const file = await draft(`tool_rules:
  - { name: all, condition: {}, verdict: ask }
  - { name: late, condition: { user: ann }, verdict: allowed }
`);
    const { code, stdout } = await policy("check", file);
    expect(code).toBe(0);
    expect(stdout).toContain(":3:5: remark: rule");
    expect(stdout).toContain("is valid: 2 rules, no tests.");
  });

  it("looks at the constitution of the home where no file is named", async () => {
    const missing = await policy("check");
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("There is no constitution in");
    const home = join(folder, "with-one");
    await mkdir(home, { recursive: true });
    await writeFile(join(home, "constitution.yaml"), "tool_rules: []");
    const found = await policy("check", "--home", home);
    expect(found.stdout).toContain("constitution.yaml is valid: 0 rules");
  });

  it("does not mistake a file that is not there for one that is wrong", async () => {
    const { code, stderr } = await policy("check", "nowhere.yaml");
    expect(code).toBe(2);
    expect(stderr).toContain("nowhere.yaml cannot be read");
  });
});

describe("reins policy test", () => {
  it("lists every test with its outcome, and what was expected where it failed", async () => {
    const file = await draft(FAILING);
    const { code, stdout } = await policy("test", file);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: [
        "ok    reading",
        "FAIL  writing",
        '        expected allowed by "some"',
        '        got ask by "all"',
        "",
        "2 tests: 1 passed, 1 failed.",
        "",
      ].join("\n"),
    });
    expect(await jsonOf("test", file)).toMatchObject({
      passed: 1,
      failed: 1,
      tests: [
        { name: "reading", passed: true },
        {
          passed: false,
          expected: { verdict: "allowed", rule: "some" },
          got: { verdict: "ask", rule: "all" },
        },
      ],
    });
  });

  it("passes what passes, and cannot run what cannot be read", async () => {
    expect((await policy("test", shipped("haak.yaml"))).code).toBe(0);
    const bad = await policy("test", await draft(BAD));
    expect(bad.code).toBe(1);
    expect(bad.stderr).toContain("there is no member");
  });
});

describe("reins policy diff", () => {
  const OLD = `tool_rules:
  - { name: never, condition: { tool_name_matches: [rm] }, verdict: blocked }
  - { name: question, condition: { tool_name_matches: [deploy], user: ann }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }
limits: [{ name: calls, per: user, within: 1h, calls: 10 }]
`;

  it("tells what was added, removed, moved and changed, and that it may be looser", async () => {
    const after = await draft(`tool_rules:
  - { name: question, condition: { tool_name_matches: [deploy], user: [ann, bob] }, verdict: ask }
  - { name: never, condition: { tool_name_matches: [rm] }, verdict: blocked }
  - { name: more, condition: { mode: plan }, verdict: blocked, reason: only a plan }
limits: [{ name: calls, per: user, within: 1h, calls: 20 }]
`);
    const { code, stdout } = await policy("diff", await draft(OLD), after);
    expect(code).toBe(0);
    expect(stdout).toContain("  - rest, was no. 3\n");
    expect(stdout).toContain("  + more, as no. 3\n      condition: { mode: plan }\n      verdict: blocked\n");
    expect(stdout).toContain("      condition.user: ann → [ann, bob]\n");
    expect(stdout).toMatch(/ {2}> (never|question), from no\. \d to no\. \d\n/);
    expect(stdout).toContain("Limits\n  ~ calls\n      calls: 10 → 20\n");
    expect(stdout).toContain("The new one may be looser, because of tool_rules, limits:");
  });

  it("tells that it is no looser, or the same", async () => {
    const before = await draft(OLD);
    const stricter = await policy(
      "diff",
      before,
      await draft(OLD.replace("verdict: ask", "verdict: blocked")),
    );
    expect(stricter.stdout).toContain("verdict: ask → blocked");
    expect(stricter.stdout).toContain("The new one is no looser: Reins would apply it at once.");
    expect((await policy("diff", before, before)).stdout).toBe("They are equal.\n");
    expect(await jsonOf("diff", before, before)).toMatchObject({ differences: [], no_looser: true });
  });
});

describe("reins policy explain", () => {
  const RULES = `tool_rules:
  - name: no_migrations
    condition: { writes: { any: { match: 'migrations/**' } } }
    verdict: blocked
    reason: migrations are for people
  - name: work
    condition: { agent_trust: registered, harmless: true }
    verdict: allowed
  - { name: smaller, condition: { arguments: { size: '9*' } }, verdict: modify, patch: { size: '1' } }
  - { name: rest, condition: {}, verdict: ask, quorum: 2, expires: 1h, reason: careful }
limits: [{ name: hourly, per: user, within: 1h, calls: 10 }]
`;

  async function explain(event: unknown, ...args: string[]) {
    const file = await draft(RULES);
    const path = join(folder, "event.json");
    await writeFile(path, JSON.stringify(event));
    return policy("explain", path, "--file", file, "--trust", "registered", ...args);
  }

  it("tells what an event would do, how each rule fared, the verdict and why", async () => {
    const event = { tool_name: "bash", arguments: { command: "rm migrations/1.sql && git push" } };
    const { code, stdout } = await explain(event);
    expect(code).toBe(0);
    expect(stdout).toContain("pre_action of bash by native (registered) for operator, asked, in");
    expect(stdout).toContain("  runs      rm migrations/1.sql\n");
    expect(stdout).toMatch(/ {2}destroys {2}\S+\/migrations\/1\.sql \(workspace\)\n/);
    expect(stdout).toContain("- git push may run hooks");
    expect(stdout).toContain(
      "  > no_migrations matches: blocked\n      held:   writes.any { match: migrations/** }\n",
    );
    expect(stdout).toContain('Verdict: blocked\n  by "no_migrations": migrations are for people\n');
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("tells what failed in the rules before, who must agree, and which limits count", async () => {
    const { stdout } = await explain({
      tool_name: "bash",
      arguments: { command: "curl https://example.com" },
    });
    expect(stdout).toContain(
      "  - work does not match\n      failed: harmless true\n      held:   agent_trust registered\n",
    );
    expect(stdout).toContain("  speaks    to example.com\n");
    expect(stdout).toContain("Verdict: ask; 2 people must agree; the approval expires after 3600 s\n");
    expect(stdout).toContain('counts against "hourly"');
  });

  it("decides a modified action again as what it has become", async () => {
    const { stdout } = await explain({ tool_name: "paint", arguments: { size: "900" } });
    expect(stdout).toContain('Verdict: modify; with { size: "1" }, then decided again');
    expect(stdout).toContain("After the change");
    expect(stdout).toContain('In the end: ask, by "rest"');
  });

  it("takes an AHP event, also from stdin, and gives everything as data", async () => {
    const event = {
      event_type: "pre_prompt",
      session_id: "s-9",
      agent_id: "stranger",
      depth: 2,
      payload: { prompt: "hello" },
    };
    const file = await draft(RULES);
    const { stdout } = await runReins(
      ["policy", "explain", "-", "--file", file, "--json"],
      { REINS_HOME: join(folder, "home") },
      JSON.stringify(event),
    );
    expect(JSON.parse(stdout)).toMatchObject({
      event_type: "pre_prompt",
      subject: { agent: "stranger", session: "s-9", depth: 2, trust: "unknown", scopes: ["*"] },
      facts: { tool: "", effects: [] },
      verdict: { verdict: "ask", rule: "rest", quorum: 2 },
      rules: [
        { rule: "no_migrations", matched: false, failed: [{ clause: "writes.any" }] },
        { rule: "work", failed: [{ clause: "agent_trust", asked: "registered" }] },
        { rule: "smaller" },
        { rule: "rest", matched: true },
      ],
      again: null,
    });
  });

  it("knows trust from the roster and what came before from the ledger of the home", async () => {
    const counting = `tool_rules:
  - name: enough
    condition: { count: { of: { tool_name_matches: [bash] }, within: 1h, at_least: 2 } }
    verdict: blocked
    reason: twice an hour is enough
  - { name: rest, condition: { agent_trust: registered }, verdict: allowed }
`;
    const { home, decide } = await openDecidedHome(counting);
    const event = JSON.stringify({ tool_name: "bash", arguments: { command: "ls" } });
    const ask = (...args: string[]) => policy("explain", event, "--home", home, "--session", "s1", ...args);
    await decide("bash", { command: "ls" });
    expect((await ask()).stdout).toContain('Verdict: allowed\n  by "rest"');
    await decide("bash", { command: "ls" });
    const twice = await ask();
    expect(twice.stdout).toContain('  2 times what "enough" asks for\n');
    expect(twice.stdout).toContain("Verdict: blocked");
    expect((await ask("--session", "s2")).stdout).toContain("Verdict: allowed");
    expect((await ask("--session", "s2", "--agent", "stranger")).stdout).toContain(
      "Verdict: blocked\n  by no rule: no matching policy rule",
    );
  });

  it.each([
    [["{nonsense"], "not JSON"],
    [["nowhere.json"], "cannot be read"],
    [["{}", "--trust", "friend"], "Use one of: unknown, registered, standing."],
    [["{}", "--enforcement", "hoped"], "--enforcement"],
  ])("%j is a mistake of usage", async (args, words) => {
    const { code, stderr } = await policy("explain", ...args, "--file", shipped("haak.yaml"));
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });
});
