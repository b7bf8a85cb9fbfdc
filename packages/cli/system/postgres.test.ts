import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { Editor } from "./support/editor.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { folder, listening, type Reins, runReins } from "./support/reins.ts";

let server: PostgresServer;

/** A home whose state is in a schema of its own. */
const homeAt = (store = server.address()) => new OperatedHome({ REINS_STORE: store });

async function edit(home: OperatedHome): Promise<Editor> {
  const editor = new Editor(home.start("acp", "--agent", "native"));
  await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return editor;
}

/** The approval that waits. */
async function pending(home: OperatedHome): Promise<string> {
  const first = async () => (await home.json("approvals", "list")).approvals[0]?.id;
  await expect.poll(first, { timeout: 60_000 }).toMatch(/^apr_/);
  return first();
}

/** What the health check says, which any client may read. */
async function health(reins: Reins): Promise<string> {
  return (await fetch(new URL("/v1/health", reins.addressOf("http")))).text();
}

/** Asks again and again, until told to stop; gives the approvals that it got. */
function load(home: OperatedHome) {
  const got: string[] = [];
  let isOver = false;
  const ask = async (n: number) => {
    for (let round = 0; !isOver; round += 1)
      await home.ask({ command: `make t${n}-${round}`, session: `s${n}` }).then(
        (id) => got.push(id),
        () => sleep(50),
      );
  };
  const asking = Promise.all([0, 1, 2].map(ask));
  const stop = () => {
    isOver = true;
    return asking;
  };
  return { got, stop };
}

/** How often the ledger says that an approval was asked for. */
async function timesAsked(home: OperatedHome): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const line of (await home.done("ledger", "log", "--json")).trim().split("\n")) {
    const { quality, payload } = JSON.parse(line).entry ?? JSON.parse(line);
    if (quality === "approval" && payload.state === "pending")
      times.set(payload.approval, (times.get(payload.approval) ?? 0) + 1);
  }
  return times;
}

const VERIFIED = { code: 0, stdout: expect.stringContaining("VERIFIED") };

// Its packages are optional, one for each platform.
describe.skipIf(postgresFolder === undefined)(
  "a home with its state in PostgreSQL",
  { timeout: 180_000 },
  () => {
    beforeAll(async () => {
      server = await PostgresServer.start();
    });
    afterAll(() => server.stop());

    it("serves a turn with an approval, and every command reads and writes there", async () => {
      const home = homeAt();
      const up = await home.up();
      const editor = await edit(home);
      const turn = editor.prompt(await editor.begin(home), "run `make asked; echo done > made`");
      const id = await pending(home);
      await home.done("approvals", "approve", id);
      expect(await turn).toMatchObject({ result: { stopReason: "end_turn" } });
      expect(await readFile(join(home.workspace, "made"), "utf8")).toBe("done\n");
      expect(await home.run("ledger", "verify")).toMatchObject(VERIFIED);
      const backup = join(folder, "running.db");
      expect(await home.run("backup", backup)).toMatchObject({ code: 0 });
      expect(await home.run("ledger", "verify", backup)).toMatchObject(VERIFIED);
      await home.stop(up);
      // Without a server, too.
      expect(await home.run("ledger", "verify")).toMatchObject(VERIFIED);
      expect(await home.done("ledger", "log", "--json")).toContain(id);
      await home.done("user", "add", "ann", "--name", "Ann", "--email", "ann@example.com");
      expect(await home.done("user", "list")).toContain("ann");
      await home.done("ledger", "keys", "rotate", "reins:system");
      const doctor = await home.run("doctor");
      expect(doctor.stdout).toMatch(/ok +database +the state is in postgres:\/\/reins@127\.0\.0\.1/);
      expect(existsSync(join(home.path, "reins.db"))).toBe(false);
      for (const said of [up.stdout, up.stderr, doctor.stdout, doctor.stderr])
        expect(said).not.toContain(server.password);
      // A shell that does not know of it begins no second ledger.
      const unaware = await runReins(["up", "--port", "0"], { REINS_HOME: home.path });
      expect(unaware).toMatchObject({ code: 2, stderr: expect.stringContaining("in PostgreSQL") });
    });

    it("blocks while the database is away, says so, goes on when it is back, and lost and doubled nothing", async () => {
      const home = homeAt();
      const up = await home.up();
      const { got, stop } = load(home);
      for (let round = 0; round < 2; round += 1) {
        const before = got.length;
        await expect.poll(() => got.length, { timeout: 60_000 }).toBeGreaterThan(before + 10);
        await server.kill();
        await expect.poll(() => health(up), { timeout: 30_000 }).toContain("cannot be reached");
        const blocked = await home.decide({ tool: "list_files", arguments: { path: "." } }).catch(String);
        expect(blocked).not.toMatchObject({ decision: "allow" });
        const doctor = await home.run("doctor");
        expect(doctor).toMatchObject({ code: 1, stdout: expect.stringMatching(/WRONG +database/) });
        expect(doctor.stdout).toMatch(/WRONG +server .*cannot be reached/);
        await server.resume();
        await expect.poll(() => health(up), { timeout: 30_000 }).toContain('"ok"');
      }
      const before = got.length;
      await expect.poll(() => got.length, { timeout: 60_000 }).toBeGreaterThan(before + 5);
      await stop();
      await home.stop(up);
      expect(await home.run("ledger", "verify")).toMatchObject(VERIFIED);
      const times = await timesAsked(home);
      expect(got.filter((id) => times.get(id) !== 1)).toEqual([]);
      expect([...times.values()].every((count) => count === 1)).toBe(true);
    });

    it("has one server at a time, and the next takes over from one that was killed", async () => {
      const address = server.address();
      const home = homeAt(address);
      const up = await home.up();
      const kept = [await home.ask({ command: "make first" })];
      const other = homeAt(address);
      const refused = await runReins(["up", "--port", "0"], other.environment);
      expect(refused).toMatchObject({
        code: 4,
        stderr: expect.stringContaining("Another Reins uses the database"),
      });
      expect(refused.stderr).not.toContain(server.password);
      kept.push(await home.ask({ command: "make second" }));
      await up.kill();
      const again = await home.up();
      for (const id of kept) expect(await home.done("approvals", "show", id)).toContain(id);
      await home.stop(again);
      expect(await home.run("ledger", "verify")).toMatchObject(VERIFIED);
    });

    it("waits for a database that is not there at the start, and then decides without a restart", async () => {
      const home = homeAt();
      await server.kill();
      const up = await listening(["up", "--port", "0", "--workspace", home.workspace], home.environment);
      await expect.poll(() => health(up), { timeout: 30_000 }).toContain('"failed"');
      expect(await health(up)).not.toMatch(/127\.0\.0\.1|reins@/);
      await server.resume();
      await up.printed("rules are in force");
      await home.ask({ command: "make something" });
      expect(up.stdout).not.toContain(server.password);
      await home.stop(up);
    });

    it("is copied from SQLite and back, byte for byte, and verifies", async () => {
      const home = await OperatedHome.begun();
      const first = await home.up();
      for (const n of [1, 2, 3]) await home.ask({ command: `make ${n}` });
      await home.stop(first);
      const address = server.address();
      const file = join(folder, "address");
      await writeFile(file, `${address}\n`);
      const there = { ...home.environment, REINS_STORE: `@${file}` };
      const exported = (environment: NodeJS.ProcessEnv) => runReins(["ledger", "export"], environment);
      const before = (await exported(home.environment)).stdout;
      expect(before.length).toBeGreaterThan(1_000);

      const early = await runReins(["up", "--port", "0"], there);
      expect(early).toMatchObject({ code: 2, stderr: expect.stringContaining("reins store copy") });
      expect(await runReins(["store", "copy", home.path, `@${file}`])).toMatchObject({ code: 0 });
      expect((await exported(there)).stdout).toBe(before);
      const twice = await runReins(["store", "copy", home.path, address]);
      expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining("not empty") });
      expect(twice.stderr).not.toContain(server.password);

      const second = await home.up(there);
      await home.ask({ command: "make 4" });
      expect(await runReins(["store", "copy", address, join(folder, "busy.db")])).toMatchObject({ code: 4 });
      await home.stop(second);
      const after = (await exported(there)).stdout;
      expect(after.length).toBeGreaterThan(before.length);
      // The copy that was left behind is an older state of the same ledger.
      expect(await home.run("ledger", "show")).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("shorter"),
      });

      const back = join(folder, "back");
      await mkdir(back, { mode: 0o700 });
      expect(await runReins(["store", "copy", `@${file}`, back])).toMatchObject({ code: 0 });
      expect((await exported({ REINS_HOME: back })).stdout).toBe(after);
      expect(await runReins(["ledger", "verify", back])).toMatchObject(VERIFIED);
    });

    it("refuses what it cannot use, with the reason and without the password", async () => {
      const good = server.address();
      const cases: [string, number, RegExp][] = [
        [good.replace(server.password, "a-wrong-secret"), 3, /refused the user, the password/],
        [good.replace(/:\d+\//, ":1/"), 3, /cannot be reached/],
        [`${good}&sslmode=require`, 3, /SSL/],
        [`${good}&sslmode=a-wrong-secret`, 2, /sslmode/],
        ["postgres://a-wrong-secret", 2, /names no user/],
        ["/tmp/a-wrong-secret", 2, /postgres:\/\//],
      ];
      for (const [store, code, reason] of cases) {
        const home = homeAt(store);
        const { stderr, ...ended } = await home.run("ledger", "show");
        expect({ ...ended, stderr }).toMatchObject({ code, stderr: expect.stringMatching(reason) });
        expect(stderr).not.toMatch(new RegExp(`a-wrong-secret|${server.password}`));
      }
      const home = homeAt();
      await mkdir(home.path, { mode: 0o700 });
      await writeFile(join(home.path, "reins.yaml"), "store: postgres://u@h/d\ndb: other.db\n");
      expect(await runReins(["ledger", "show"], { REINS_HOME: home.path })).toMatchObject({ code: 2 });
      expect(await home.run("up", "--db", "x.db")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("two databases"),
      });
    });
  },
);
