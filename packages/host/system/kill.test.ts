import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { JsonObject } from "@reins/acp";
import type { Killed, KillOrder } from "@reins/runner";
import { AgentProcess, KillJournal, killJournalIn, Owner } from "@reins/runner";
import { killLeftBehind, killSocketIn, requestKill } from "@reins/runner/kill";
import { describe, expect, it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { seededRandom } from "../../../scripts/torture/random.ts";
import { temporaryFolder } from "../../runner/test/agents.ts";
import { expectTruth } from "../../runner/torture/trees/expectations.ts";
import { nastyTree } from "../../runner/torture/trees/nasty-tree.ts";
import { type Planted, plant } from "../../runner/torture/trees/planted.ts";
import { clear, residentsOf, standing } from "../../runner/torture/trees/residents.ts";
import { Hosting } from "../src/hosting/hosting.ts";
import { recordLeftKills } from "../src/kill/kills.ts";
import { OwnedCommands } from "../src/native/owned-commands.ts";
import { openTestHome } from "./fixtures/home.ts";
import { stubEntry, TestClient } from "./fixtures/hub.ts";
import { startBlocked } from "./kill/start-blocked.ts";

const SEED = 20_261_116;

function order(target: KillOrder["target"], tenant: string | null = null): KillOrder {
  return { id: randomUUID(), target, tenant, by: "user:default/operator", reason: "a test" };
}

/** Trees that stand still, so that a test knows when they are there; each is cleared in the end. */
async function lastingTrees(count: number, home: string): Promise<Planted[]> {
  const random = seededRandom(SEED);
  const place = await temporaryFolder();
  const planted: Planted[] = [];
  while (planted.length < count) {
    const tree = nastyTree(random);
    if (!tree.brief) planted.push(await plant(place, home, tree, undefined));
  }
  return planted;
}

async function openHosting(folder?: string) {
  const rules = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";
  const opened = await openTestHome(folder === undefined ? { rules } : { folder });
  const { harness, home } = opened;
  const install = async () => ({ version: "1.0.0", folder: home });
  const agents = [stubEntry("stub")];
  const hosting = await Hosting.open({ harness, agents, install, environment: {}, killSocket: true });
  return { ...opened, hosting, owner: new Owner(home), close: () => hosting.close() };
}

/** Runs a tree as an agent of a tenant, holding one session. */
async function run(
  { hosting, owner }: { readonly hosting: Hosting; readonly owner: Owner },
  { launch, folder, tree }: Planted,
  tenant: string,
  signal: AbortSignal,
) {
  const process = await AgentProcess.start(launch, { owner, onFault: () => undefined });
  process.onMessage(() => undefined);
  const found = { agent: `tree-of-${tenant}`, tenant, principal: "local", confined: false };
  const id = hosting.register.add({ ...found, started_at: new Date().toISOString() }, process);
  hosting.register.hold(id, [`${tenant}-${process.pid}`]);
  await standing(folder, tree.ups, signal);
  return process;
}

requirement(
  "Linux",
  process.platform === "linux",
  "the process table is read from /proc",
)("a kill", () => {
  it("ends trees that do not want to end, and its report is what the process table says", async ({
    signal,
  }) => {
    const opened = await openHosting();
    const { hosting, home, entries, close } = opened;
    const trees = await lastingTrees(4, home);
    try {
      for (const tree of trees) await run(opened, tree, "default", signal);
      const killed = await hosting.kills?.kill(order({ kind: "agent", name: "tree-of-default" }));
      const { report, entry } = killed as Killed;
      for (const tree of trees) expectTruth(report, residentsOf(tree.folder), tree);
      expect(report.gone.length).toBeGreaterThan(trees.length);
      expect(new Set(report.gone.map(({ agent }) => agent))).toEqual(new Set(["tree-of-default"]));
      expect(report.sessions).toHaveLength(trees.length);
      const [recorded] = await entries("kill");
      expect(recorded).toMatchObject({
        cid: entry,
        actor: "user:default/operator",
        target: "tree-of-default",
        payload: { reason: "a test", gone: report.gone, left: report.left },
      });
      expect(recorded?.proof).toMatchObject({ type: "attestation" });
      expect(existsSync(killJournalIn(home))).toBe(false);
    } finally {
      for (const { folder } of trees) clear(folder);
      await close();
    }
  });

  it("ends what it is about and nothing else, and says when that is nothing", async ({ signal }) => {
    const opened = await openHosting();
    const { hosting, home, close } = opened;
    const [ours, theirs] = await lastingTrees(2, home);
    try {
      const own = await run(opened, ours!, "default", signal);
      await run(opened, theirs!, "acme", signal);
      const kill = (target: KillOrder["target"], tenant: string | null) =>
        hosting.kills?.kill(order(target, tenant));
      expect(await kill({ kind: "agent", name: "unknown" }, null)).toBeUndefined();
      expect(await kill({ kind: "agent", name: "tree-of-default" }, "acme")).toBeUndefined();
      expect(await kill({ kind: "session", name: "default-none" }, null)).toBeUndefined();
      const killed = await kill({ kind: "session", name: `default-${own.pid}` }, "default");
      expectTruth(killed!.report, residentsOf(ours!.folder), ours!);
      expect(residentsOf(theirs!.folder).length).toBeGreaterThan(0);
      const all = await kill({ kind: "all" }, "acme");
      expectTruth(all!.report, residentsOf(theirs!.folder), theirs!);
    } finally {
      for (const planted of [ours, theirs]) clear(planted!.folder);
      await close();
    }
  });

  it("ends the commands of an agent that is a part of Reins, and says which turns Reins has to end itself", async ({
    signal,
  }) => {
    const { hosting, home, owner, close } = await openHosting();
    const found = { agent: "native", tenant: "default", principal: "local", confined: false };
    const id = hosting.register.add({ ...found, started_at: new Date().toISOString() });
    hosting.register.hold(id, ["inside-session"]);
    const commands = new OwnedCommands({
      owner,
      environment: { PATH: "/usr/bin:/bin" },
      onStart: (root) => hosting.register.root(id, root),
    });
    const command = "sleep 60 & (setsid sleep 60 > /dev/null 2>&1 &); echo up > up; wait";
    const running = commands.run({ command, cwd: home, timeoutMs: 60_000 }, signal);
    await expect.poll(() => existsSync(join(home, "up"))).toBe(true);
    const killed = await hosting.kills?.kill(order({ kind: "agent", name: "native" }));
    expect(killed?.report.gone.filter(({ command }) => command === "sleep 60")).toHaveLength(2);
    expect(killed?.report).toMatchObject({ left: [], inside: ["inside-session"] });
    expect(await running).toMatchObject({ signal: "SIGKILL" });
    expect(hosting.register.all).toMatchObject([{ roots: [] }]);
    await close();
  });

  it("cancels the prompts that wait for the agent, which stays away until the next prompt", async () => {
    const { hosting, harness, workspace, close } = await openHosting();
    const { hub } = hosting;
    const client = new TestClient();
    const send = (message: JsonObject) => void client.got.push({ message, order: undefined });
    const outlet = { send, failed: () => undefined };
    const principal = harness.identity.local();
    client.connection = await hub.connect({ principal, agent: "stub", outlet });
    const { sessionId } = await client.request("session/new", { cwd: workspace, mcpServers: [] });
    const id = String(sessionId);
    const running = client.prompt(id, "say begun", "wait");
    await expect.poll(() => client.said).toEqual(["begun"]);
    const waiting = client.prompt(id, "say too late");
    // A request that has arrived, and whose prompt does not wait in the hub yet.
    const arrival = hub.arrive();
    const [killed, ...ends] = await Promise.allSettled([
      hosting.kills?.kill(order({ kind: "agent", name: "stub" })),
      ...[running, waiting],
    ]);
    expect(killed).toMatchObject({ value: { report: { left: [], sessions: [id] } } });
    expect(ends).toMatchObject([
      { reason: { message: expect.stringContaining("SIGKILL") } },
      { reason: { message: expect.stringContaining("was killed before the prompt's turn came") } },
    ]);
    const { signal } = new AbortController();
    const late = await hub.connect({ principal, agent: "stub", arrival });
    const params = { sessionId: id, prompt: [{ type: "text", text: "say too late" }] };
    await expect(late.request("session/prompt", params, signal)).rejects.toThrow("was killed before");
    expect(await hub.running()).toEqual([]);
    await client.prompt(id, "say here again");
    expect(client.said).toEqual(["begun", "here again"]);
    await close();
  });

  it("works while Reins is blocked, which writes it down when it comes back", async ({ signal }) => {
    const base = await temporaryFolder();
    const home = join(base, "home");
    const trees = await lastingTrees(2, base);
    const reins = await startBlocked({
      home,
      launches: trees.map(({ launch }) => launch),
      go: join(base, "go"),
    });
    try {
      for (const { folder, tree } of trees) await standing(folder, tree.ups, signal);
      await reins.block();
      const answer = await requestKill(killSocketIn(home), order({ kind: "all" }), signal);
      const { report, entry } = answer as Killed;
      for (const tree of trees) expectTruth(report, residentsOf(tree.folder), tree);
      expect(report.gone.length).toBeGreaterThanOrEqual(trees.length);
      expect(entry).toBeNull();
      const recorded = Object(await reins.release());
      expect(recorded).toMatchObject({ quality: "kill", payload: { target: { kind: "all" } } });
      expect(recorded.payload.gone.map(({ pid }: { pid: number }) => pid)).toEqual(
        report.gone.map(({ pid }) => pid),
      );
    } finally {
      for (const { folder } of trees) clear(folder);
    }
  });

  it("is written down at the next start, if Reins never comes back", async ({ signal }) => {
    const base = await temporaryFolder();
    const home = join(base, "home");
    const trees = await lastingTrees(1, base);
    const launches = trees.map(({ launch }) => launch);
    const reins = await startBlocked({ home, launches, go: join(base, "go") });
    try {
      for (const { folder, tree } of trees) await standing(folder, tree.ups, signal);
      await reins.block();
      const { report } = (await requestKill(killSocketIn(home), order({ kind: "all" }), signal)) as Killed;
      await reins.end();
      const { entries, close } = await openHosting(base);
      const recorded = await entries("kill");
      expect(recorded).toHaveLength(1);
      expect(recorded[0]?.payload).toMatchObject({
        late: true,
        gone: report.gone.map(({ pid, agent }) => ({ pid, agent })),
      });
      await close();
    } finally {
      for (const { folder } of trees) clear(folder);
    }
  });
});

it("leaves nothing open where it cannot be listened for, and says so", async () => {
  const folder = join(await temporaryFolder(), "deep".repeat(30));
  await expect(openHosting(folder)).rejects.toThrow("agents could not be ended from outside");
  const left = await readdir(join(folder, "home"));
  expect(left.filter((name) => name.endsWith(".journal"))).toEqual([]);
});

describe("a kill without a Reins", () => {
  it("is written down by the next one, and one that is ordered meanwhile by the one after that", async () => {
    const { harness, home, entries } = await openTestHome();
    const journal = new KillJournal(killJournalIn(home));
    const [first, second] = [order({ kind: "all" }), order({ kind: "all" })];
    journal.ordered(first, new Date());
    const record: typeof harness.record = (...asked) => {
      journal.ordered(second, new Date());
      return harness.record(...asked);
    };
    await recordLeftKills(Object.create(harness, { record: { value: record } }), journal);
    expect(journal.unrecorded()).toMatchObject([{ order: second }]);
    await recordLeftKills(harness, journal);
    expect(existsSync(killJournalIn(home))).toBe(false);
    const written = (await entries("kill")).map(({ tags }) => tags);
    expect(written).toEqual([first, second].map(({ id }) => ["kill", "all", `kill:${id}`]));
  });

  it("finds no server at the socket, and is kept for the next one", async ({ signal }) => {
    const home = await temporaryFolder();
    const all = order({ kind: "all" });
    expect(await requestKill(killSocketIn(home), all, signal)).toBe("no_listener");
    const dying = createServer((client) => client.end()).listen(killSocketIn(home));
    await once(dying, "listening");
    expect(await requestKill(killSocketIn(home), all, signal)).toBe("no_listener");
    dying.close();
    const report = await killLeftBehind(home, all);
    expect(report).toMatchObject({ gone: [], left: [] });
    expect(new KillJournal(killJournalIn(home)).unrecorded()).toMatchObject([
      { order: all, report: { id: all.id } },
    ]);
  });
});
