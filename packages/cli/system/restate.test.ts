import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { freePort, RestateServer, restateProgram } from "../../restate/test/restate-server.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { TestCluster } from "./support/cluster.ts";
import { OperatedHome } from "./support/operated-home.ts";
import type { Reins } from "./support/reins.ts";

const withPostgres = requirement(
  "PostgreSQL",
  postgresFolder !== undefined,
  "npm has no PostgreSQL for this machine",
);
const RULES = "tool_rules:\n  - { name: all, condition: {}, verdict: allowed }\n";
const TOKEN = "tok-4fK29sLq0XzR7mVb";

const withRestate = requirement(
  "Restate",
  restateProgram !== undefined,
  "npm has no Restate server for this machine",
);

/** A home whose durable runs Restate carries. */
async function homeOn(restate: Pick<RestateServer, "ingress" | "admin" | "identityKey">, port?: number) {
  const home = new OperatedHome();
  mkdirSync(home.path);
  writeFileSync(join(home.path, "constitution.yaml"), RULES);
  writeFileSync(join(home.path, "token"), `${TOKEN}\n`);
  const settings = {
    ...{ address: restate.ingress, admin: restate.admin, token: "@token" },
    listen: `127.0.0.1:${port ?? (await freePort())}`,
    identity_keys: [restate.identityKey].filter((key) => key !== ""),
  };
  writeFileSync(
    join(home.path, "reins.yaml"),
    `graphs: { engine: restate, restate: ${JSON.stringify(settings)} }\n`,
  );
  return home;
}

/** Declares a run of actions that lasts, each after the one before. */
async function start(home: OperatedHome, id: string, actions: readonly object[], lasts = true) {
  const chained = actions.map((action, index) => ({
    id: `a${index + 1}`,
    ...(index > 0 && { depends_on: [`a${index}`] }),
    ...action,
  }));
  const file = join(home.workspace, `${id}.json`);
  const durable = { persist: true, execution: { mode: "durable", strategy: "dag" } };
  const declared = { type: "agent.protocol", version: "1", intent: "execute", ...(lasts && durable) };
  writeFileSync(file, JSON.stringify({ ...declared, payload: { type: "action_graph", actions: chained } }));
  return home.run("graph", "run", file, "--cwd", home.workspace, "--id", id, "--detach");
}

/** Appends a line to a file: done twice, it shows. */
const append = (line: string, more: object = {}) => ({
  executor: { type: "tool", target: "run_command" },
  input: { command: `echo ${line} >> done.txt` },
  ...more,
});

const statusOf = async (home: OperatedHome, id: string) =>
  (await home.done("graph", "show", id)).split("\n")[0] ?? "";
const linesIn = async (home: OperatedHome) =>
  (await readFile(join(home.workspace, "done.txt"), "utf8").catch(() => "")).split("\n").filter(Boolean);

/** The only approval that waits, and no other appears. */
async function approval(home: OperatedHome): Promise<string> {
  const list = async () => (await home.json("approvals", "list")).approvals;
  await expect.poll(async () => (await list()).length, { timeout: 60_000 }).toBe(1);
  return (await list())[0].id;
}

async function health(reins: Reins) {
  const response = await fetch(new URL("/v1/health", reins.addressOf("http")));
  return { code: response.status, ...Object(await response.json()) };
}

/** How the ledger says that calls of a run ended, by action. */
async function outcomesOf(home: OperatedHome, run: string): Promise<string[]> {
  const log = (await home.done("ledger", "log", "--json")).trim().split("\n");
  return log.flatMap((line) => {
    const { quality, payload } = JSON.parse(line).entry ?? JSON.parse(line);
    const isOf = quality === "tool_result" && payload.graph?.run_id === run;
    return isOf ? [`${payload.graph.action_id} ${payload.outcome ?? payload.status}`] : [];
  });
}

const LONG = { timeout: 240_000 };

withRestate("reins with graphs.engine: restate", () => {
  let restate: RestateServer;
  beforeAll(async () => {
    restate = await RestateServer.start();
  });
  afterAll(() => restate?.stop());

  it("goes on with a run after Reins and Restate were killed, each effect once", LONG, async () => {
    const home = await homeOn(restate);
    const first = await home.up();
    const canary = "canary-8d1f0c";
    const actions = [
      append("one"),
      append("two", { requires_approval: true, title: canary }),
      append(canary),
      { executor: { type: "runtime", target: "wait" }, input: { seconds: 8 } },
      append("four"),
    ];
    expect(await start(home, "kept", actions)).toMatchObject({ code: 0 });
    const asked = await approval(home);
    expect(await statusOf(home, "kept")).toMatch(/^kept {2}waiting/);
    await first.kill();

    const second = await home.up();
    await expect.poll(() => statusOf(home, "kept"), { timeout: 60_000 }).toMatch(/^kept {2}waiting/);
    expect(await approval(home)).toBe(asked);
    await restate.kill();
    await expect
      .poll(() => health(second), { timeout: 60_000 })
      .toMatchObject({ code: 200, status: "ok", durable_runs: expect.stringContaining("Restate") });
    // Permission comes while Restate is away.
    await home.done("approvals", "approve", asked);
    await restate.resume();
    const shown = () => home.done("graph", "show", "kept");
    await expect.poll(shown, { timeout: 60_000 }).toMatch(/completed +a3/);
    await second.kill();

    const third = await home.up();
    await expect.poll(() => statusOf(home, "kept"), { timeout: 60_000 }).toMatch(/^kept {2}completed/);
    expect(await linesIn(home)).toEqual(["one", "two", canary, "four"]);
    expect((await outcomesOf(home, "kept")).sort()).toEqual(
      ["a1", "a2", "a3", "a4", "a5"].map((action) => `${action} completed`),
    );
    expect(await home.done("graph", "show", "kept")).toContain("a5");
    await expect.poll(() => health(third)).not.toHaveProperty("durable_runs");
    const said = [first, second, third].map(({ stderr, stdout }) => stderr + stdout).join("");
    expect(said).not.toContain(TOKEN);
    await home.stop(third);
    expect(await home.done("ledger", "verify")).toBeTruthy();
    // What was done is nowhere in Restate.
    expect(await restate.holds(canary)).toBe(false);
    expect(await restate.holds("kept")).toBe(true);
    await restate.resume();
  });

  it("fails where the outcome of an effect is unknown, and a decision repeats it", LONG, async () => {
    const home = await homeOn(restate);
    const first = await home.up();
    const slow = { input: { command: "echo slow >> done.txt; sleep 3" }, failure_policy: "ask_model" };
    await start(home, "cut", [append("", slow), append("after")]);
    await expect.poll(() => linesIn(home), { timeout: 60_000 }).toEqual(["slow"]);
    await first.kill();
    const second = await home.up();
    await expect.poll(() => statusOf(home, "cut"), { timeout: 60_000 }).toMatch(/^cut {2}blocked/);
    expect(await outcomesOf(home, "cut")).toEqual(["a1 unknown"]);
    await home.done("graph", "decide", "cut", "a1", "continue");
    await expect.poll(() => statusOf(home, "cut"), { timeout: 60_000 }).toMatch(/^cut {2}completed/);
    expect(await linesIn(home)).toEqual(["slow", "after"]);
    // One that has failed is reopened, and one that waits is canceled.
    await start(home, "late", [{ executor: { type: "tool", target: "read_file" }, input: { path: "none" } }]);
    await expect.poll(() => statusOf(home, "late"), { timeout: 60_000 }).toMatch(/^late {2}failed/);
    writeFileSync(join(home.workspace, "none"), "now");
    await home.done("graph", "resume", "late");
    await expect.poll(() => statusOf(home, "late"), { timeout: 60_000 }).toMatch(/^late {2}completed/);
    await start(home, "gone", [append("never", { requires_approval: true })]);
    await approval(home);
    expect(await home.done("graph", "cancel", "gone")).toMatch(/^gone {2}canceled/);
    expect(await linesIn(home)).toEqual(["slow", "after"]);
    await home.stop(second);
  });

  it("says that Restate does not answer, and goes on with everything else", LONG, async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    const home = await homeOn({ ingress: away, admin: away, identityKey: "" });
    const reins = await home.up();
    await expect
      .poll(() => health(reins), { timeout: 60_000 })
      .toMatchObject({ code: 200, status: "ok", durable_runs: expect.stringContaining("Restate") });
    const doctor = await home.run("doctor");
    expect(doctor.stdout).toMatch(
      /WRONG +restate +durable runs wait: Restate at http:\/\/127\.0\.0\.1:\d+ does/,
    );
    const refused = await start(home, "none", [append("none")]);
    expect(refused.stdout).toMatch(/^none {2}failed/);
    expect(refused.stdout).toMatch(/it could not begin: Restate at http\S+ does not answer/);
    expect(await start(home, "plain", [append("plain")], false)).toMatchObject({ code: 0 });
    await expect.poll(() => statusOf(home, "plain"), { timeout: 60_000 }).toMatch(/^plain {2}completed/);
    expect(reins.stderr + reins.stdout + doctor.stdout + refused.stdout).not.toContain(TOKEN);
    await home.stop(reins);
  });

  it("refuses a configuration that others could use, and says what is wrong", LONG, async () => {
    const home = await homeOn(restate);
    const set = (settings: object) =>
      writeFileSync(
        join(home.path, "reins.yaml"),
        `graphs: { engine: restate, restate: ${JSON.stringify(settings)} }\n`,
      );
    set({ listen: "0.0.0.0:9080" });
    const open = await home.run("up", "--port", "0");
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("without identity_keys")]);
    set({ address: "restate.example.com" });
    const wrong = await home.run("up", "--port", "0");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("graphs.restate.address")]);
    // The port belongs to another program.
    const other = createServer().listen(0, "127.0.0.1");
    await expect.poll(() => other.address()).not.toBeNull();
    const taken = await homeOn(restate, Object(other.address()).port);
    const reins = taken.start("up", "--port", "0");
    await reins.printed("where Restate is to call, cannot be listened on");
    await reins.kill();
    other.close();
  });

  withPostgres("and nodes", () => {
    it("goes on with a run on another node when its own is killed in a step", LONG, async () => {
      const server = await PostgresServer.start();
      onTestFinished(() => server.stop());
      const { ingress: address, admin, identityKey } = restate;
      const settings = { address, admin, identity_keys: [identityKey] };
      const cluster = await TestCluster.start(server.address(), ["a", "b"], {
        settings: `graphs: { engine: restate, restate: ${JSON.stringify(settings)} }`,
        files: { "constitution.yaml": RULES },
      });
      onTestFinished(() => cluster.close());
      const { home } = cluster.node("a");
      const wait = (seconds: number) => ({
        executor: { type: "runtime", target: "wait" },
        input: { seconds },
      });
      const actions = [append("one"), wait(4), append("two", { requires_approval: true }), append("three")];
      expect(await start(home, "moved", actions)).toMatchObject({ code: 0 });
      const owner = await cluster.ownerOf();
      const other = cluster.node(owner === "a" ? "b" : "a").home;
      const shown = () => other.done("graph", "show", "moved");
      await expect.poll(shown, { timeout: 60_000 }).toMatch(/completed +a1[\s\S]*running +a2/);
      await cluster.kill(owner);
      // The next request is answered by the other node, which gets the run from Restate.
      await expect.poll(shown, { timeout: 60_000 }).toMatch(/^moved {2}waiting/);
      const asked = await approval(other);
      await cluster.restart(owner);
      await cluster.node(owner).home.done("approvals", "approve", asked);
      await expect.poll(shown, { timeout: 60_000 }).toMatch(/^moved {2}completed/);
      expect(await linesIn(home)).toEqual(["one", "two", "three"]);
      expect((await outcomesOf(other, "moved")).sort()).toEqual(
        ["a1", "a2", "a3", "a4"].map((action) => `${action} completed`),
      );
      expect(await other.run("ledger", "verify")).toMatchObject({ code: 0 });
    });
  });
});
