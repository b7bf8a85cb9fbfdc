import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DecidedHome, openDecidedHome } from "./support/decided-home.ts";
import { runReins } from "./support/reins.ts";

const RULES = `tool_rules:
  - { name: never, condition: { commands: { any: [rm] } }, verdict: blocked }
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: later, condition: { tool_name_matches: [wait] }, verdict: defer }
  - { name: smaller, condition: { tool_name_matches: [paint], arguments: { area.size: '9*' } }, verdict: modify, patch: { area.size: '1' } }
  - { name: often, condition: { tool_name_matches: [bash], count: { of: { tool_name_matches: [bash] }, within: 1h, at_least: 3 } }, verdict: ask }
  - { name: idle, condition: { tool_name_matches: [dance] }, verdict: blocked }
  - { name: work, condition: { tool_name_matches: [bash, read_file, paint] }, verdict: allowed }
limits: [{ name: reads, per: session, within: 1h, calls: 2, condition: { tool_name_matches: [read_file] } }]
`;

/** A home with verdicts of every kind: by rules, a limit, a person, and with something modified. */
async function usedHome(): Promise<DecidedHome> {
  const used = await openDecidedHome(RULES);
  const { decide, harness } = used;
  for (let n = 0; n < 4; n += 1) await decide("bash", { command: `ls src-${n}` });
  await decide("bash", { command: "rm -r build" });
  for (let n = 0; n < 3; n += 1) await decide("read_file", { path: "a.txt" });
  const { approval = "" } = await decide("deploy", { to: "prod" });
  await harness.approvals.answer(approval, {
    by: "bob",
    roles: ["approver"],
    tenant: "default",
    decision: "allow_once",
  });
  expect((await decide("deploy", { to: "prod" })).verdict).toBe("allowed");
  await decide("wait");
  expect((await decide("paint", { area: { size: "99" } })).verdict).toBe("modify");
  await decide("fetch", { url: "https://example.com" });
  await decide("fetch", { url: "https://example.org" }, { agent: "stranger" });
  await used.settle();
  return used;
}

const VERDICTS = 14;

const run = (home: string, ...args: string[]) => runReins(["policy", ...args], { REINS_HOME: home });
const jsonOf = async (home: string, ...args: string[]) =>
  JSON.parse((await run(home, ...args, "--json")).stdout);

async function draftIn({ home }: DecidedHome, rules: string): Promise<string> {
  const path = join(home, "..", "draft.yaml");
  await writeFile(path, rules);
  return path;
}

describe("reins policy backtest", () => {
  it("reproduces every verdict with the same policy, whatever limits and people made of it", async () => {
    const { home } = await usedHome();
    const file = join(home, "constitution.yaml");
    const report = await jsonOf(home, "backtest", file, "--fail-on", "change");
    expect(report).toMatchObject({
      total: VERDICTS,
      unchanged: VERDICTS,
      same_rules: VERDICTS,
      contradicted: 0,
      blind: 0,
      not_replayable: { no_policy: 0, no_facts: 0, unreadable: 0 },
      before: { allowed: 6, blocked: 3, ask: 3, defer: 1, modify: 1 },
    });
    expect(report.after).toEqual(report.before);
  });

  it("reproduces them too when only the words of the file are others", async () => {
    const used = await usedHome();
    const report = await jsonOf(used.home, "backtest", await draftIn(used, `# a remark\n${RULES}`));
    expect(report).toMatchObject({ total: VERDICTS, unchanged: VERDICTS, same_rules: 0, blind: 0 });
  });

  it("shows what a draft would change, grouped, counted and with examples", async () => {
    const used = await usedHome();
    const draft = await draftIn(
      used,
      RULES.replace("[deploy] }, verdict: ask", "[deploy] }, verdict: allowed")
        .replace("verdict: blocked }\n", "verdict: ask }\n")
        .replace("[bash, read_file, paint]", "[bash, paint]"),
    );
    const { code, stdout } = await run(used.home, "backtest", draft);
    expect(code).toBe(0);
    expect(stdout).toContain(`on ${VERDICTS} verdicts, `);
    expect(stdout).toMatch(/unchanged +8\n +the same by another rule +0\n +stricter +3\n +looser +3\n/);
    expect(stdout).toMatch(/ {2}allowed +6 → 5\n/);
    expect(stdout).toContain('Looser\n  2 x deploy by native: ask by "question" → allowed by "question"\n');
    expect(stdout).toContain('  1 x bash by native: blocked by "never" → ask by "never"\n');
    expect(stdout).toMatch(/ {8}[0-9a-f]{12} {2}rm -r build; destroys build and below\n/);
    expect(stdout).toContain('Stricter\n  3 x read_file by native: allowed by "work" → blocked by no rule\n');
    expect(stdout).toMatch(/ {8}[0-9a-f]{12} {2}reads a\.txt\n/);
    for (const line of stdout.split("\n").slice(1)) expect(line.length).toBeLessThanOrEqual(80);
    expect((await run(used.home, "backtest", draft)).stdout).toBe(stdout);
  });

  it("ends as --fail-on says", async () => {
    const used = await usedHome();
    const stricter = await draftIn(used, RULES.replace("[bash, read_file, paint]", "[bash, paint]"));
    const code = async (...args: string[]) => (await run(used.home, "backtest", stricter, ...args)).code;
    expect([await code(), await code("--fail-on", "looser"), await code("--fail-on", "change")]).toEqual([
      0, 0, 1,
    ]);
    expect(await code("--fail-on", "anything")).toBe(2);
    const looser = await draftIn(used, RULES.replace("verdict: ask", "verdict: allowed"));
    expect((await run(used.home, "backtest", looser, "--fail-on", "looser")).code).toBe(1);
  });

  it("counts what came before as the draft would have had it", async () => {
    const used = await usedHome();
    const once = RULES.replace("at_least: 3", "at_least: 1");
    const { changes } = await jsonOf(used.home, "backtest", await draftIn(used, once));
    expect(changes).toMatchObject([
      {
        tool: "bash",
        from: { verdict: "allowed", rule: "work" },
        to: { verdict: "ask", rule: "often" },
        count: 2,
      },
    ]);
  });

  it("reports that a draft asks for arguments that were not kept", async () => {
    const used = await usedHome();
    const draft = await draftIn(
      used,
      RULES.replace("tool_name_matches: [deploy]", "tool_name_matches: [deploy], arguments: { to: prod }"),
    );
    const { stdout } = await run(used.home, "backtest", draft);
    expect(stdout).toContain("2 verdicts had to be decided without arguments that the draft asks for");
  });

  it("can be kept to the newest, and to those since a time", async () => {
    const { home } = await usedHome();
    const file = join(home, "constitution.yaml");
    expect((await jsonOf(home, "backtest", file, "--limit", "3")).total).toBe(3);
    expect((await jsonOf(home, "backtest", file, "--since", "1h")).total).toBe(VERDICTS);
    expect((await jsonOf(home, "backtest", file, "--since", "2100-01-01")).total).toBe(0);
    expect((await run(home, "backtest", file, "--since", "yesterday")).code).toBe(2);
    expect((await jsonOf(home, "backtest", file, "--tenant", "acme")).total).toBe(0);
  });

  it("refuses a draft that cannot be read, and a home without a ledger", async () => {
    const used = await usedHome();
    const bad = await run(used.home, "backtest", await draftIn(used, "tool_rules: [{ name: a }]"));
    expect(bad.code).toBe(1);
    expect(bad.stderr).toContain("tool_rules.0.verdict: is missing");
    const nowhere = await run(join(used.home, "nowhere"), "backtest", join(used.home, "constitution.yaml"));
    expect(nowhere.code).toBe(3);
  });
});

describe("reins policy coverage", () => {
  it("shows the actions that no rule names, how often each rule decided, and which never did", async () => {
    const { home } = await usedHome();
    const { code, stdout } = await run(home, "coverage");
    expect(code).toBe(0);
    expect(stdout).toMatch(/named by a rule +12\n/);
    expect(stdout).toMatch(/matched by no rule +2\n/);
    expect(stdout).toMatch(
      /Actions that no rule names\n {2}1 x fetch by native: blocked by no rule\n {8}[0-9a-f]{12} {2}speaks to example\.com\n {2}1 x fetch by stranger/,
    );
    expect(stdout).toContain("  1  never\n  2  question\n");
    expect(stdout).toContain("  0  idle  (never)\n");
  });

  it("counts a rule for everything as naming nothing, and finds rules that can never match", async () => {
    const used = await usedHome();
    const draft = await draftIn(
      used,
      `tool_rules:
  - { name: reading, condition: { tool_name_matches: [read_file] }, verdict: allowed }
  - { name: rest, condition: {}, verdict: ask }
  - { name: late, condition: { user: ann }, verdict: allowed }
`,
    );
    const report = await jsonOf(used.home, "coverage", draft);
    expect(report).toMatchObject({
      total: VERDICTS,
      named: 3,
      taken_by_all: VERDICTS - 3,
      unmatched: 0,
      never_matched: [],
      unreachable: [{ rule: "late", because: "rest" }],
    });
    const { stdout } = await run(used.home, "coverage", draft);
    expect(stdout).toContain("Rules that can never match\n  late: ");
  });
});
