import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Harness } from "@reins/supervisor";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const SERVER = fileURLToPath(new URL("./fixtures/stalling-server.ts", import.meta.url));
const harness = harnessForAll();

test.each([
  ["in a loop", "loop"],
  ["in native code", "wait"],
])("a main thread that stalls %s is reported with its stack, in health and metrics", async (_, how) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "stall-")));
  const child = fork(SERVER, [base, how], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const gone = once(child, "exit");
  onTestFinished(async () => {
    if (child.connected) child.disconnect();
    await gone;
    await rm(base, { recursive: true, force: true });
  });
  let complaints = "";
  child.stderr?.on("data", (data) => {
    complaints += String(data);
  });
  const [{ address, token, stallFile }] = await once(child, "message");
  expect(await ask(address, "GET", "/v1/health")).toMatchObject({ status: 200, body: { status: "ok" } });
  expect(Object((await ask(address, "GET", "/v1/health")).body).stalls).toBeUndefined();

  child.send(3_000);
  const late = ask(address, "GET", "/v1/health");
  let isAnswered = false;
  void late.then(() => {
    isAnswered = true;
  });
  // During the stall: no other thread could write this.
  await expect
    .poll(() => readFile(stallFile, "utf8").catch(() => ""), { timeout: 15_000 })
    .toContain("stalled");
  expect(isAnswered).toBe(false);
  await late;
  const written = (await readFile(stallFile, "utf8")).split("\n")[0] ?? "";
  if (how === "loop") expect(written).toMatch(/blockOnPurpose \(\S+stalling-server\.ts:\d+/);
  expect(complaints).toContain("the main thread stalls");

  await expect
    .poll(async () => Object((await ask(address, "GET", "/v1/health")).body).stalls)
    .toMatchObject({ count: 1, last_at: expect.any(String) });
  const headers = { authorization: `Bearer ${token}` };
  await expect
    .poll(async () => (await ask(address, "GET", "/metrics", { headers })).text)
    .toMatch(/reins_main_thread_stalled_seconds_total [2-9]/);
  expect((await ask(address, "GET", "/metrics", { headers })).text).toContain(
    "reins_main_thread_stalls_total 1",
  );
  const { body } = await ask(address, "GET", "/v1/overview", { headers });
  expect(Object(body).stalls).toMatchObject({ count: 1, last: { where: expect.any(Array) } });
});

test("health is 503 while starting and after a failure, with the reason and without paths", async () => {
  const opening = Promise.withResolvers<Harness>();
  let opened = () => opening.promise;
  const served = await Served.open(harness(), { harness: () => opened() });
  const health = () => ask(served.address, "GET", "/v1/health");
  expect(await health()).toMatchObject({ status: 503, body: { status: "starting" } });
  const failure = new Error("/home/ann/.local/share/reins/reins.db is damaged");
  opening.reject(failure);
  await expect.poll(health).toMatchObject({
    status: 503,
    body: { status: "failed", reason: "reins.db is damaged" },
  });
  // Each request retries, and it counts as failed until one succeeds.
  opened = () => new Promise(() => undefined);
  expect(await health()).toMatchObject({ status: 503, body: { status: "failed" } });
  opened = async () => harness();
  expect(await health()).toMatchObject({ status: 200, body: { status: "ok" } });
});
