import { studyOperations } from "@reins/api";
import { describe, expect, test } from "vitest";
import { unnamedMembers } from "./fixtures/described.ts";
import { harnessForAll, RULES, Served } from "./fixtures/home.ts";

const harness = harnessForAll();
const STRICTER = RULES.replace("verdict: ask", "verdict: blocked");

async function study(served: Served, what: string, body: object, as?: string) {
  const { status, body: answer } = await served.ask("POST", `/v1/policy/${what}`, { body, as });
  return { status, ...Object(answer) };
}

/** A draft whose test takes its time. */
function slowDraft(): string {
  const globs = ["*a*a*a*a*a*a*a*a*a*a*b", "**/*a*/**/*a*/**/*a*/**/*a*/**/*a*/z"];
  const path = `/w/${"a".repeat(2_000)}/${"a/".repeat(500)}`;
  const rules = globs.map((match, n) => ({
    ...{ name: `r${n}`, verdict: "blocked" },
    condition: { writes: { any: { match } } },
  }));
  const effects = [{ kind: "write", path, inside: path.slice(3) }];
  return JSON.stringify({
    tool_rules: rules,
    tests: [{ name: "t", given: { tool: "Write", effects }, expect: "blocked" }],
  });
}

/** The newest verdict on a session. */
async function verdictOf(served: Served, session: string): Promise<string> {
  await served.question(session);
  await harness().supervisor.close();
  const path = `/v1/ledger?session=coder:ahp:${session}&quality=policy_verdict&limit=1`;
  const { body } = await served.ask("GET", path);
  return Object(body).entries[0].entry.cid;
}

describe("a draft of a constitution", () => {
  test("is parsed, compiled and tested before it is used", async () => {
    const served = await Served.open(harness());
    expect(await study(served, "validate", { rules: STRICTER })).toMatchObject({
      fine: true,
      rules: 3,
      faults: [],
      tests: [{ name: "a deletion", passed: true }],
    });
    const bad = await study(served, "validate", { rules: "tool_rules:\n  - { name: x, verdict: maybe }\n" });
    expect(bad).toMatchObject({ fine: false, rules_hash: null, faults: [{ line: 2 }] });
    const failing = RULES.replace("expect: blocked", "expect: allowed");
    expect(await study(served, "test", { rules: failing })).toMatchObject({
      passed: 0,
      failed: 1,
      tests: [
        { passed: false, expected: { verdict: "allowed" }, got: { verdict: "blocked", rule: "never" } },
      ],
    });
    expect(await study(served, "test", { rules: "nonsense: [" })).toMatchObject({ status: 409 });
  });

  test("cannot be studied by users who may not change the constitution", async () => {
    const served = await Served.open(harness());
    const { secret } = await served.person();
    for (const what of ["validate", "test", "backtest", "coverage"])
      expect([what, (await study(served, what, { rules: STRICTER }, secret)).status]).toEqual([what, 403]);
  });

  test("of one tenant are few at the same time, and leave room for those of others", async () => {
    const served = await Served.open(harness());
    const admins = (tenant: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => served.person({ tenant, roles: ["admin"] })));
    const [busy, calm] = [await admins("busy", 6), await admins("calm", 2)];
    const statusOf = async ({ secret }: { readonly secret: string }, what = "validate") =>
      (await study(served, what, { rules: slowDraft() }, secret)).status;
    const flood = Promise.all(busy.map((admin) => statusOf(admin)));
    expect(await Promise.all(calm.map((admin) => statusOf(admin)))).toEqual([200, 200]);
    const counts = Map.groupBy(await flood, (status) => status);
    expect([counts.get(200)?.length, counts.get(429)?.length]).toEqual([3, 3]);
    const [first = { secret: "" }] = calm;
    const own = await Promise.all(["validate", "test", "validate"].map((what) => statusOf(first, what)));
    expect(own.filter((status) => status === 429)).toHaveLength(1);
  });

  test("with slow patterns does not block other requests", async () => {
    const served = await Served.open(harness());
    // Of the processor, because a busy machine may take any time.
    const begun = process.cpuUsage();
    expect(await study(served, "validate", { rules: slowDraft() })).toMatchObject({
      status: 200,
      fine: true,
    });
    expect(process.cpuUsage(begun).user).toBeLessThan(20_000_000);
  });

  test("is backtested on past verdicts", async () => {
    const served = await Served.open(harness());
    await verdictOf(served, "past");
    const report = await study(served, "backtest", { rules: STRICTER });
    expect(report).toMatchObject({ status: 200, looser: 0, after: { ask: 0 } });
    expect(report.stricter).toBeGreaterThan(0);
    expect(report.changes[0]).toMatchObject({
      direction: "stricter",
      from: { verdict: "ask", rule: "question" },
      to: { verdict: "blocked", rule: "question" },
      tool: "deploy",
    });
    expect(await study(served, "backtest", { rules: STRICTER, limit: 1 })).toMatchObject({ total: 1 });
    const coverage = await study(served, "coverage", {});
    expect(coverage).toMatchObject({ never_matched: ["never", "rest"] });
    const { backtestPolicy, coverPolicy } = studyOperations;
    for (const [{ answer }, { status: _, ...body }] of [
      [backtestPolicy, report],
      [coverPolicy, coverage],
    ] as const)
      expect(unnamedMembers(answer, body)).toEqual([]);
  });
});

describe("the explanation of a verdict", () => {
  test("has the rules before the match, identity and outcome of a past one", async () => {
    const served = await Served.open(harness());
    const entry = await verdictOf(served, "why");
    expect(await study(served, "explain", { entry })).toMatchObject({
      status: 200,
      entry,
      event_type: "pre_action",
      subject: { user: "ann", agent: "coder", trust: "registered" },
      policy: { current: true },
      rules: [
        { rule: "never", matched: false, failed: [{ clause: "tool_name_matches", asked: ["rm"] }] },
        { rule: "question", matched: true, verdict: "ask" },
      ],
      said: { verdict: "ask", rule: "question", reason: "careful" },
      recorded: { verdict: "ask", enforcement: "asked", approval: expect.any(String) },
    });
    expect(await study(served, "explain", { entry, rules: STRICTER })).toMatchObject({
      entry,
      policy: { current: false },
      said: { verdict: "blocked", rule: "question" },
      recorded: { verdict: "ask" },
      note: null,
    });
    const outsider = await served.person();
    expect(await study(served, "explain", { entry }, outsider.secret)).toMatchObject({ status: 404 });
  });

  test("can be of a hypothetical action, by the rules in force or a draft", async () => {
    const served = await Served.open(harness());
    const event = { tool: "deploy", arguments: { to: "production" } };
    expect(await study(served, "explain", { event })).toMatchObject({
      entry: null,
      recorded: null,
      said: { verdict: "ask" },
      policy: { current: true },
    });
    expect(await study(served, "explain", { event, rules: STRICTER })).toMatchObject({
      said: { verdict: "blocked" },
      policy: { current: false },
    });
    const person = await served.person();
    expect(await study(served, "explain", { event }, person.secret)).toMatchObject({ status: 403 });
    expect(await study(served, "explain", { event, entry: "0".repeat(64) })).toMatchObject({ status: 400 });
    expect(await study(served, "explain", { entry: "0".repeat(64) })).toMatchObject({ status: 404 });
  });
});
