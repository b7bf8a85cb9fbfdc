import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, constants } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Orchestration } from "@reins/graph";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { RestateApi } from "../src/index.ts";
import { Engines } from "../test/engines.ts";
import { freePort, RestateServer, restateProgram } from "../test/restate-server.ts";
import { SharedJournal } from "../test/shared-journal.ts";
import { Balancer, Worker } from "../test/workers.ts";

const withRestate = requirement(
  "Restate",
  restateProgram !== undefined,
  "npm has no Restate server for this machine",
);

const LONG = { timeout: 120_000 };
/** An attempt of the run that the workers carry. */
const HUNG = "a1/1";
const SOON = { timeout: 60_000 };

withRestate("A run on a Restate server", () => {
  let restate: RestateServer;
  beforeAll(async () => {
    restate = await RestateServer.start();
  });
  afterAll(() => restate?.stop());

  async function enginesOn(server = restate): Promise<Engines> {
    const engines = await Engines.make(server);
    onTestFinished(() => engines.close());
    return engines;
  }

  test("goes on in its process while the server is killed and started again", LONG, async () => {
    const engines = await enginesOn();
    let effects = 0;
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const engine = engines.open(async (_, { step, receive }) => {
      const first = await step("first", async () => {
        effects += 1;
        reach();
        await released;
        return effects;
      });
      return [first, await step("second", async () => (effects += 1)), await receive("answer")];
    });
    await engine.resume();
    await engine.start("run", null);
    await reached;
    await restate.kill();
    release();
    await expect.poll(() => engine.outage, SOON).toMatch(/^Restate at http:\S+ does not answer/);
    // It is stored, and nothing after it begins before Restate knows that.
    expect((await new SharedJournal(engines.path).load("run"))?.entries.get("first")).toBe(1);
    expect(effects).toBe(1);
    await restate.resume();
    await expect.poll(() => engine.outage, SOON).toBeUndefined();
    expect(await engine.send("run", "answer", "yes")).toBe(true);
    expect(await engine.ended("run")).toEqual([1, 2, "yes"]);
    await engine.close();
  });

  test("goes on from its journal when the server has lost all it had", LONG, async () => {
    const server = await RestateServer.start();
    onTestFinished(() => server.stop());
    const engines = await enginesOn(server);
    let effects = 0;
    const engine = engines.open(async (_, { step, receive }) => [
      await step("first", async () => (effects += 1)),
      await receive("answer"),
    ]);
    await engine.resume();
    await engine.start("run", null);
    await expect.poll(() => effects).toBe(1);
    await server.lose();
    await expect.poll(() => engine.outage, SOON).toBeDefined();
    await server.resume();
    await expect.poll(() => engine.outage, SOON).toBeUndefined();
    expect(await engine.send("run", "answer", "yes")).toBe(true);
    expect(await engine.ended("run")).toEqual([1, "yes"]);
    expect(effects).toBe(1);
    await engine.close();
  });

  test("is continued by another process when its own is killed in a step", LONG, async () => {
    const folder = await mkdtemp(join(tmpdir(), "restate-workers-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const ports = [await freePort(), await freePort()];
    const balancer = await Balancer.open(ports);
    onTestFinished(() => balancer.close());
    const { ingress, admin, identityKey } = restate;
    const [path, effects] = [join(folder, "journal.db"), join(folder, "effects")];
    const order = (port: number) => ({
      settings: {
        ...{ ingress, admin, host: "127.0.0.1", port, identityKeys: [identityKey] },
        advertise: balancer.address,
      },
      ...{ name: `Workers${process.pid}`, path, effects, takes: 0, runs: { run: { seed: 17, actions: 6 } } },
    });
    const [one = 0, other = 0] = ports;
    const first = await Worker.start({ ...order(one), hangsIn: HUNG });
    onTestFinished(() => first.kill());
    const done = async () => (await readFile(effects, "utf8").catch(() => "")).trim().split("\n");
    await expect.poll(done, SOON).toContain(`run/${HUNG}`);
    const before = await done();
    await first.kill();
    const second = await Worker.start(order(other));
    onTestFinished(() => second.kill());
    const journal = new SharedJournal(path);
    await expect.poll(async () => (await journal.load("run"))?.end?.state, SOON).toBe("ended");
    // The step that was cut is executed again with its key, and no other.
    const after = await done();
    expect(after.slice(0, before.length)).toEqual(before);
    const twice = after.filter((key, index) => after.indexOf(key) !== index);
    expect(twice).toEqual([`run/${HUNG}`]);
    expect(new Set(after).size).toBeGreaterThan(before.length);
  });

  test(
    "is continued by a process that takes over, while its own hangs and where it was killed",
    LONG,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "restate-workers-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const { ingress, admin, identityKey } = restate;
      const [path, effects] = [join(folder, "journal.db"), join(folder, "effects")];
      const settings = { ingress, admin, host: "127.0.0.1", port: 0, identityKeys: [identityKey] };
      const order = {
        ...{ settings, name: `Alone${process.pid}`, path, effects, takes: 0, isAlone: true },
        runs: { run: { seed: 17, actions: 6 } },
      };
      const done = async () => (await readFile(effects, "utf8").catch(() => "")).trim().split("\n");
      const begun = (times: number) => async () =>
        (await done()).filter((key) => key === `run/${HUNG}`).length === times;
      const first = await Worker.start({ ...order, hangsIn: HUNG });
      onTestFinished(() => first.kill());
      await expect.poll(begun(1), SOON).toBe(true);
      first.signal("SIGSTOP");
      const second = await Worker.start({ ...order, hangsIn: HUNG });
      onTestFinished(() => second.kill());
      await expect.poll(begun(2), SOON).toBe(true);
      await second.kill();
      const third = await Worker.start(order);
      onTestFinished(() => third.kill());
      const journal = new SharedJournal(path);
      await expect.poll(async () => (await journal.load("run"))?.end?.state, SOON).toBe("ended");
      const after = await done();
      const twice = after.filter((key, index) => after.indexOf(key) !== index);
      expect(twice).toEqual([`run/${HUNG}`, `run/${HUNG}`]);
    },
  );

  test("carries what is its own, and nothing else of its journal", LONG, async () => {
    const engines = await enginesOn();
    const engine = engines.open(
      async (_, { run }) => run,
      {},
      (run) => run !== "other",
    );
    const journal = new SharedJournal(engines.path);
    await journal.create("other", null);
    await journal.create("own", null);
    await engine.resume();
    expect(await engine.ended("own")).toBe("own");
    expect((await journal.load("other"))?.end).toBeUndefined();
    await engine.close();
  });

  test("goes on when its process was gone for so long that Restate has paused it", LONG, async () => {
    const server = await RestateServer.start({ RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS: "3" });
    onTestFinished(() => server.stop());
    const engines = await enginesOn(server);
    const orchestrate: Orchestration<unknown, unknown> = async (_, { receive }) => receive("answer");
    const first = engines.open(orchestrate);
    await first.resume();
    await first.start("run", null);
    const states = async () => (await server.invocations(`${engines.name}Run`)).map(({ status }) => status);
    await expect.poll(states, SOON).toContain("running");
    await engines.kill(first);
    await expect.poll(states, SOON).toContain("paused");
    const second = engines.open(orchestrate);
    await second.resume();
    expect(await second.send("run", "answer", "yes")).toBe(true);
    expect(await second.ended("run")).toBe("yes");
    await second.close();
  });

  test("goes on after the next start when its invocation was killed in Restate", LONG, async () => {
    const engines = await enginesOn();
    const orchestrate: Orchestration<unknown, unknown> = async (_, { step, receive }) => [
      await step("first", async () => 1),
      await receive("answer"),
    ];
    const first = engines.open(orchestrate);
    await first.resume();
    await first.start("run", null);
    const journal = new SharedJournal(engines.path);
    await expect.poll(async () => (await journal.load("run"))?.entries.has("first")).toBe(true);
    const killed = await restate.killInvocations(`${engines.name}Run`);
    expect(killed).toBeGreaterThan(0);
    await engines.kill(first);
    const second = engines.open(orchestrate);
    await second.resume();
    expect(await second.send("run", "answer", "yes")).toBe(true);
    expect(await second.ended("run")).toEqual([1, "yes"]);
    await second.close();
  });

  test("that could not begin is not begun later", LONG, async () => {
    const server = await RestateServer.start();
    onTestFinished(() => server.stop());
    const engines = await enginesOn(server);
    let begun = 0;
    const engine = engines.open(async () => (begun += 1));
    await engine.resume();
    await engine.start("one", null);
    expect(await engine.ended("one")).toBe(1);
    await server.kill();
    await expect.poll(() => engine.outage, SOON).toBeDefined();
    await expect(engine.start("two", null)).rejects.toThrow("does not answer");
    await server.resume();
    await engine.start("three", null);
    expect(await engine.ended("three")).toBe(2);
    expect(await engine.find("two")).toMatchObject({ state: "failed" });
    expect(begun).toBe(2);
    await engine.close();
  });

  test("takes nothing that this Reins did not seal", LONG, async () => {
    const engines = await enginesOn();
    const engine = engines.open(async (_, { receive }) => receive("answer"));
    await engine.resume();
    await engine.start("run", null);
    const forge = (handler: string, body: object) =>
      fetch(`${restate.ingress}/${engines.name}Inbox/run/${handler}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const forged = await forge("send", { name: "answer", sealed: "forged" });
    expect([forged.ok, await forged.text()]).toEqual([false, expect.stringContaining("not sealed")]);
    expect((await forge("send", { sealed: "cancel" })).ok).toBe(false);
    expect((await forge("end", { turn: "", after: 9 })).ok).toBe(false);
    expect(await engine.send("run", "answer", "true")).toBe(true);
    expect(await engine.ended("run")).toBe("true");
    await engine.close();
  });

  test("is served to the server that has the key, and to no other caller", LONG, async () => {
    const engines = await enginesOn();
    const engine = engines.open(async () => "done");
    await engine.resume();
    for (const path of ["/discover", `/invoke/${engines.name}Run/carry`]) {
      const session = connect(`http://127.0.0.1:${engines.port}`);
      const stream = session.request({
        [constants.HTTP2_HEADER_PATH]: path,
        [constants.HTTP2_HEADER_METHOD]: path === "/discover" ? "GET" : "POST",
        accept: "application/vnd.restate.endpointmanifest.v3+json",
      });
      stream.end();
      const status = await new Promise((resolve) =>
        stream.once("response", (headers) => resolve(headers[constants.HTTP2_HEADER_STATUS])),
      );
      expect(status).toBe(401);
      session.destroy();
    }
    const open = engines.open(async () => "done", { host: "0.0.0.0", identityKeys: [] });
    await expect(open.resume()).rejects.toThrow("only with identity keys");
    const { ingress, admin } = restate;
    const token = "tok-secret";
    const api = new RestateApi({ ingress: `${ingress}/none`, admin, token });
    await expect(api.check()).rejects.toThrow(/^(?!.*tok-secret).*status 4/);
    await engine.close();
  });
});
