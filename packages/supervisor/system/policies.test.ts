import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { harnessTables } from "../src/harness/tables.ts";
import type { NamedPolicyFiles } from "../src/policies/policy-files.ts";
import { PolicyKeeper } from "../src/policies/policy-keeper.ts";

const ASK = "tool_rules: [{ name: all, condition: {}, verdict: ask }]";
const ALLOW = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]";
const BLOCK = "tool_rules: [{ name: all, condition: {}, verdict: blocked }]";

/** A home whose policies are kept until `stop`, as often as it is started. */
async function newHome() {
  const home = await mkdtemp(join(tmpdir(), "policies-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const write = (rules: string) => writeFile(join(home, "constitution.yaml"), rules);
  await writeFile(join(home, "constitution.md"), "be kind");
  const start = async (tenants: string[] = ["default"], files: NamedPolicyFiles = {}) => {
    const path = join(home, "reins.db");
    const store = await openSqlite({ path, tables: [ledgerTables, ...harnessTables] });
    const signers = new KeyFolder(join(home, "keys"));
    const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/test" });
    const faults: string[] = [];
    const keeper = await PolicyKeeper.open({
      ...{ home, files, ledger, everyMs: 60_000, tenants: async () => tenants },
      onChange: ({ fault }) => fault !== undefined && faults.push(fault),
      onError: (error) => faults.push(String(error)),
    });
    const stop = async () => {
      keeper.close();
      await store.close();
    };
    onTestFinished(stop);
    const changes = async () => (await ledger.read({ tag: "constitution" })).length;
    return { keeper, stop, changes, faults };
  };
  return { home, write, start };
}

const verdictOf = (keeper: PolicyKeeper, tenant = "default") =>
  keeper.inForce.get(tenant)?.rules[0]?.rule.verdict;

describe("after a restart", () => {
  test("the same constitution is in force without another entry", async () => {
    const { write, start } = await newHome();
    await write(ASK);
    const first = await start();
    expect([verdictOf(first.keeper), await first.changes()]).toEqual(["ask", 1]);
    await first.stop();
    const second = await start();
    expect([verdictOf(second.keeper), await second.changes()]).toEqual(["ask", 1]);
  });

  test("a constitution that became looser meanwhile waits for an admin, and the one before stays in force", async () => {
    const { write, start } = await newHome();
    await write(ASK);
    await (await start()).stop();
    await write(ALLOW);
    const { keeper, changes } = await start();
    expect(verdictOf(keeper)).toBe("ask");
    expect(keeper.status("default")?.waiting?.rules[0]?.rule.verdict).toBe("allowed");
    await keeper.accept("default", "user:default/ann");
    expect([verdictOf(keeper), await changes()]).toEqual(["allowed", 2]);
  });

  test("what waits is accepted once, and only as it was when it was accepted", async () => {
    const { write, start } = await newHome();
    await write(BLOCK);
    const { keeper, changes } = await start();
    await write(ASK);
    await keeper.refresh();
    const accept = (admin: string) => keeper.accept("default", `user:default/${admin}`);
    const twice = await Promise.allSettled([accept("ann"), accept("bob")]);
    expect(twice.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect([verdictOf(keeper), await changes()]).toEqual(["ask", 2]);
    await write(`${ALLOW} # all of it`);
    await keeper.refresh();
    await write(`${ALLOW} # and more`);
    const looking = keeper.refresh();
    await expect(accept("ann")).rejects.toMatchObject({ code: "conflict" });
    await looking;
    expect([verdictOf(keeper), await changes()]).toEqual(["ask", 2]);
  });

  test("one that became stricter applies, and one that is broken leaves the one before", async () => {
    const { write, start } = await newHome();
    await write(ASK);
    await (await start()).stop();
    await write("tool_rules: [");
    const broken = await start();
    expect(verdictOf(broken.keeper)).toBe("ask");
    expect(broken.keeper.status("default")?.fault).toContain("constitution.yaml:1");
    await broken.stop();
    await write(BLOCK);
    expect(verdictOf((await start()).keeper)).toBe("blocked");
  });
});

test("a constitution that was named elsewhere is the harness's, also for tenants that have none", async () => {
  const { home, write, start } = await newHome();
  await write(ASK);
  const rules = join(home, "elsewhere.yaml");
  await writeFile(rules, BLOCK);
  const { keeper } = await start(["default", "acme"], { rules });
  expect([verdictOf(keeper), verdictOf(keeper, "acme")]).toEqual(["blocked", "blocked"]);
  expect(keeper.filesOf("default")).toMatchObject({ rules, prose: join(home, "constitution.md") });
  await writeFile(rules, ALLOW);
  await keeper.refresh();
  expect(keeper.status("default")?.waiting?.rules[0]?.rule.verdict).toBe("allowed");
});

test("a tenant without a constitution of its own lives under that of the harness, and one with its own under that", async () => {
  const { home, write, start } = await newHome();
  await write(ASK);
  const { keeper } = await start(["default", "acme", "other"]);
  expect([verdictOf(keeper, "acme"), verdictOf(keeper, "other")]).toEqual(["ask", "ask"]);
  expect(verdictOf(keeper, "stranger")).toBeUndefined();
  await mkdir(join(home, "tenants", "acme"), { recursive: true });
  await writeFile(join(home, "tenants", "acme", "constitution.yaml"), BLOCK);
  await keeper.refresh();
  expect([verdictOf(keeper, "acme"), verdictOf(keeper, "other")]).toEqual(["blocked", "ask"]);
});

test("a tenant that comes to be while a looser constitution waits lives under the one in force", async () => {
  const { write, start } = await newHome();
  await write(ASK);
  const tenants = ["default"];
  const { keeper } = await start(tenants);
  await write(ALLOW);
  await keeper.refresh();
  tenants.push("acme");
  await keeper.refresh();
  expect([verdictOf(keeper), verdictOf(keeper, "acme")]).toEqual(["ask", "ask"]);
});

test("the policy of a tenant that has just come to be is loaded when it is asked for, once for all who ask", async () => {
  const { write, start } = await newHome();
  await write(ASK);
  const tenants = ["default"];
  const { keeper, changes } = await start(tenants);
  tenants.push("acme");
  expect(keeper.inForce.get("acme")).toBeUndefined();
  const loaded = await Promise.all([keeper.load("acme"), keeper.load("acme"), keeper.load("default")]);
  expect(loaded.map((policy) => policy?.rules[0]?.rule.verdict)).toEqual(["ask", "ask", "ask"]);
  expect(await changes()).toBe(1);
  expect(await keeper.load("stranger")).toBeUndefined();
});

describe("files that cannot be read", () => {
  test("leave the policy as it was, are reported once, and count again when they can be", async () => {
    const { home, write, start } = await newHome();
    await write(ASK);
    const { keeper, faults } = await start();
    const rules = join(home, "constitution.yaml");
    await rm(rules);
    await mkdir(rules);
    for (let looks = 0; looks < 3; looks += 1) await keeper.refresh();
    expect(verdictOf(keeper)).toBe("ask");
    expect(faults).toEqual([expect.stringMatching(/^it could not be read: EISDIR/)]);
    await rm(rules, { recursive: true });
    await write(BLOCK);
    await keeper.refresh();
    expect(verdictOf(keeper)).toBe("blocked");
    expect(keeper.status("default")?.fault).toBeUndefined();
  });

  test("are reported as a roster, too, and then every agent is unknown", async () => {
    const { home, write, start } = await newHome();
    await write(ASK);
    const roster = join(home, "agent-roster.jsonl");
    const line = '{"session_id":"reed","state":"live"}\n';
    await writeFile(roster, line);
    const { keeper, faults } = await start();
    expect(keeper.roster.trustOf("reed")).toBe("registered");
    await rm(roster);
    await mkdir(roster);
    for (let looks = 0; looks < 3; looks += 1) await keeper.refresh();
    expect(keeper.roster.trustOf("reed")).toBe("unknown");
    expect(faults).toEqual([expect.stringContaining("EISDIR")]);
    await rm(roster, { recursive: true });
    await writeFile(roster, line);
    await keeper.refresh();
    expect(keeper.roster.trustOf("reed")).toBe("registered");
  });
});
