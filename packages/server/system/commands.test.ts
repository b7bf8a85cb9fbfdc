import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeConfined, sandbox } from "../../runner/test/with-sandbox.ts";
import { openAgentHome } from "./fixtures/agent-home.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import type { Served } from "./fixtures/home.ts";

const RULES = `tool_rules: [{ name: all, condition: {}, verdict: allowed }]`;
const home = agentsForAll({ rules: RULES });
const MEBIBYTE = 1024 * 1024;

const shell = (line: string, more: object = {}) => ({ command: "/bin/sh", args: ["-c", line], ...more });

function asker(served: Served, as?: string) {
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await served.ask(method, `/v1/processes${path}`, { as, ...(body && { body }) });
    return { status: answer.status, body: Object(answer.body) };
  };
  const start = async (body: object) => String((await ask("POST", "", body)).body.id);
  return { ask, start };
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The number that a process writes to a file when it begins. */
async function pidIn(file: string): Promise<number> {
  await expect.poll(async () => (await stat(file).catch(() => undefined))?.size ?? 0).toBeGreaterThan(0);
  return Number(await readFile(file, "utf8"));
}

test.each([
  ["in the background", (line: string) => `sh -c '${line}' &`],
  ["in a session of its own", (line: string) => `setsid sh -c '${line}' &`],
  [
    "in a session of its own, without the environment and the output",
    (line: string) => `env -i setsid nohup /bin/sh -c '${line}' </dev/null >/dev/null 2>&1 &`,
  ],
  ["twice forked", (line: string) => `( ( setsid sh -c '${line}' >/dev/null 2>&1 & ) & );`],
  ["deaf to SIGTERM and SIGHUP", (line: string) => `setsid sh -c 'trap "" TERM HUP; ${line}' &`],
])("nothing that a command leaves %s outlives it", async (how, detached) => {
  const { ask } = asker(await serveAgents(home()));
  const file = join(home().workspace, how.replaceAll(/\W/g, "-"));
  const wait = `while [ ! -s ${file} ]; do sleep 0.05; done`;
  const line = `${detached(`echo $$ > ${file}; while :; do sleep 1; done`)} ${wait}`;
  const { body } = await ask("POST", "/run", shell(line, { timeoutMs: 60_000 }));
  expect(body).toMatchObject({ exitCode: 0, timedOut: false });
  const pid = await pidIn(file);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("a command that does not mind SIGTERM is still there after stop, and gone after kill", async () => {
  const { ask, start } = asker(await serveAgents(home()));
  const file = join(home().workspace, "deaf");
  const id = await start(shell(`trap '' TERM; echo $$ > ${file}; while :; do sleep 0.1; done`));
  const pid = await pidIn(file);
  expect((await ask("POST", `/${id}/stop?waitMs=50`)).body).toMatchObject({ status: "running" });
  expect(isAlive(pid)).toBe(true);
  expect((await ask("POST", `/${id}/kill?waitMs=20000`)).body).toMatchObject({ status: "exited", pid: null });
  expect(isAlive(pid)).toBe(false);
  expect((await ask("POST", `/${id}/stop`)).body).toMatchObject({ status: "exited" });
});

test("a client that leaves while a command runs to its end ends it", async () => {
  const served = await serveAgents(home());
  const file = join(home().workspace, "left");
  const headers = { authorization: `Bearer ${served.access.token}`, "content-type": "application/json" };
  const body = JSON.stringify(shell(`echo $$ > ${file}; while :; do sleep 0.1; done`));
  const leaving = new AbortController();
  const asked = fetch(`${served.address}/v1/processes/run`, {
    ...{ method: "POST", headers, body, signal: leaving.signal },
  });
  asked.catch(() => undefined);
  const pid = await pidIn(file);
  leaving.abort();
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("a command that floods its output keeps the last of it, and everything else answers", async () => {
  const served = await serveAgents(home());
  const { ask, start } = asker(served);
  const id = await start(shell("yes | head -c 100000000; echo the end"));
  await expect.poll(async () => (await ask("GET", `/${id}`)).body.status, { timeout: 60_000 }).toBe("exited");
  const { entries } = (await ask("GET", `/${id}/logs`)).body;
  const text = entries.map(({ data }: { data: string }) => Buffer.from(data, "base64").toString()).join("");
  expect(text.length).toBeLessThan(11 * MEBIBYTE);
  expect(text.endsWith("y\nthe end\n")).toBe(true);
  const last = (await ask("GET", `/${id}/logs?tail=1`)).body.entries;
  expect(last).toEqual(entries.slice(-1));
});

test("those who follow output and do not read it are let go, and keep no others from it", async () => {
  const limits = { stallMs: 300, keepAliveMs: 100 };
  const served = await serveAgents(home(), { limits, quotas: { principal: { streams: 3 } } });
  const { secret } = await served.person({ roles: ["admin"] });
  const { ask, start } = asker(served, secret);
  const id = await start(shell("yes | head -c 60000000; sleep 600"));
  const headers = { authorization: `Bearer ${secret}` };
  const path = `/v1/processes/${id}/logs?follow=true`;
  const follow = async () => {
    const { sent, response } = await begin(served.address, "GET", path, { headers });
    sent.on("error", () => undefined);
    onTestFinished(() => void sent.destroy());
    return response.statusCode;
  };
  for (let count = 0; count < 3; count += 1) expect(await follow()).toBe(200);
  await expect.poll(follow).toBe(200);
  await ask("POST", `/${id}/kill`);
});

test("output is followed from an entry on, by its owner alone, until the token is revoked", async () => {
  const served = await serveAgents(home(), { limits: { keepAliveMs: 50 } });
  const ann = await served.person({ roles: ["admin"] });
  const { start } = asker(served, ann.secret);
  const id = await start(shell("echo one; sleep 0.2; echo two; sleep 600"));
  const path = `/v1/processes/${id}/logs?follow=true`;
  const next = async (events: Events) => {
    let event = await events.next();
    // Between them the connection is kept alive.
    while (event && event.data === undefined) event = await events.next();
    const { data = "" } = Object(event?.data);
    return { id: event?.id ?? "", text: Buffer.from(data, "base64").toString() };
  };
  const first = await Events.open(served, {}, ann.secret, path);
  const { id: seen, text } = await next(first);
  expect(text).toBe("one\n");
  expect((await next(first)).text).toBe("two\n");
  const again = await Events.open(served, { "last-event-id": seen }, ann.secret, path);
  expect((await next(again)).text).toBe("two\n");
  expect((await served.ask("GET", path, {})).status).toBe(404);
  await served.harness.identity.revokeToken(ann.id);
  while (await first.next());
  while (await again.next());
});

test("streams of output and commands that run are within the quotas of a principal and of its tenant", async () => {
  const own = await openAgentHome({
    rules: RULES,
    quotas: { principal: { commands: 2 }, tenant: { commands: 3 } },
  });
  onTestFinished(own.close);
  const served = await serveAgents(own, { quotas: { principal: { streams: 1 } } });
  const [ann, ben] = [await served.person({ roles: ["admin"] }), await served.person({ roles: ["admin"] })];
  const [as, other] = [asker(served, ann.secret), asker(served, ben.secret)];
  const sleep = { command: "sleep", args: ["600"] };
  const ids = [await as.start(sleep), await as.start(sleep)];
  const refused = await as.ask("POST", "", sleep);
  expect([refused.status, refused.body.detail]).toEqual([429, expect.stringContaining("2 of 2 commands")]);
  await other.start(sleep);
  expect((await other.ask("POST", "", sleep)).body.detail).toContain("this tenant has 3 of 3 commands");
  expect((await as.ask("POST", `/${ids[0]}/kill?waitMs=20000`)).body.status).toBe("exited");
  await other.start(sleep);
  const path = `/v1/processes/${ids[1]}/logs?follow=true`;
  await Events.open(served, {}, ann.secret, path);
  expect((await served.ask("GET", path, { as: ann.secret })).status).toBe(429);
  // One that cannot be started takes no place.
  await as.ask("POST", `/${ids[1]}/kill?waitMs=20000`);
  for (let count = 0; count < 3; count += 1)
    expect((await as.ask("POST", "", { command: "no-such-command" })).status).toBe(409);
});

test("input is taken by an interactive command, in bounds, until it has ended", async () => {
  const { ask, start } = asker(await serveAgents(home()));
  const id = await start({ command: "cat", interactive: true });
  const send = (data: string, encoding = "utf8") => ask("POST", `/${id}/input`, { data, encoding });
  expect((await send("a")).body).toEqual({ bytesWritten: 1 });
  expect((await send(Buffer.from("b").toString("base64"), "base64")).body).toEqual({ bytesWritten: 1 });
  expect((await send("x".repeat(70_000))).status).toBe(413);
  expect((await send("x", "utf16")).status).toBe(400);
  expect((await send("!!!", "base64")).status).toBe(400);
  const shown = async () =>
    (await ask("GET", `/${id}/logs?stream=stdout`)).body.entries
      .map(({ data }: { data: string }) => Buffer.from(data, "base64").toString())
      .join("");
  await expect.poll(shown).toBe("ab");
  await ask("POST", `/${id}/kill?waitMs=20000`);
  expect((await send("late")).status).toBe(409);
  const silent = await start(shell("sleep 600"));
  expect((await ask("POST", `/${silent}/input`, { data: "eA==" })).status).toBe(409);
  await ask("POST", `/${silent}/kill`);
});

test("commands end with the server that ran them", async () => {
  const own = await openAgentHome({ rules: RULES });
  const { start } = asker(await serveAgents(own));
  const file = join(own.workspace, "last");
  await start(shell(`trap '' TERM; setsid sh -c 'echo $$ > ${file}; while :; do sleep 1; done' & wait`));
  const pid = await pidIn(file);
  await own.close();
  await expect.poll(() => isAlive(pid)).toBe(false);
});

describeConfined("the commands of a caller without the rights of an admin", () => {
  const confined = agentsForAll({ rules: RULES, hosting: { sandbox } });

  async function of(tenant?: string) {
    const served = await serveAgents(confined());
    const { secret } = await served.person({ ...(tenant !== undefined && { tenant }) });
    await confined().harness.policies.refresh();
    const { ask, start } = asker(served, secret);
    const run = async (line: string, more: object = {}) =>
      (await ask("POST", "/run", shell(line, more))).body;
    return { ...confined(), run, ask, start };
  }

  test("work in the folders of its tenant, and see nothing of others, of Reins or of the network", async () => {
    const { run, base, workspace, harness } = await of();
    await writeFile(join(workspace, "own.txt"), "own");
    const foreign = join(base, "home-workspaces", "acme");
    await mkdir(foreign, { recursive: true });
    await writeFile(join(foreign, "secret.txt"), "of acme");
    expect(await run("cat own.txt; echo made > made.txt; pwd")).toMatchObject({
      ...{ exitCode: 0, stdout: `own${workspace}\n` },
    });
    expect(await readFile(join(workspace, "made.txt"), "utf8")).toBe("made\n");
    const listener = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
    onTestFinished(() => void listener.close());
    const { port } = Object(listener.address());
    const node = `${process.execPath} -e 'require("net").connect(${port}, "127.0.0.1").on("data", (d) => console.log(String(d))).on("error", () => {})'`;
    for (const line of [
      `cat ${foreign}/secret.txt`,
      // Its own, which is empty, lies there.
      `find ${harness.home} -type f`,
      `cat ${harness.home}/start-token ${harness.home}/reins.db`,
      `cat /proc/${process.pid}/environ /proc/${process.pid}/cmdline`,
      `kill -0 ${process.pid}`,
      `echo x > ${base}/planted`,
      node,
    ]) {
      const { stdout } = await run(`${line} 2>/dev/null || true`);
      expect([line, stdout]).toEqual([line, ""]);
    }
    await expect(stat(join(base, "planted"))).rejects.toThrow();
  });

  test("have variables of their own, which count in the sandbox alone", async () => {
    const { run, base, workspace } = await of();
    // The loader of a program writes there, of each program that is started with them.
    const planted = join(base, "planted-by-loader");
    const env = {
      LD_DEBUG: "libs",
      LD_DEBUG_OUTPUT: planted,
      A: "one 'two' $three\n",
      PATH: "/usr/bin:/bin",
    };
    const ran = await run("printf '%s' \"$A\"; printf '%s' \"$LD_DEBUG_OUTPUT\"; printf '%s' \"$PATH\"", {
      env,
    });
    expect(ran).toMatchObject({ exitCode: 0, stdout: `${env.A}${planted}/usr/bin:/bin` });
    expect((await readdir(base)).filter((name) => name.startsWith("planted"))).toEqual([]);
    const inside = { ...env, LD_DEBUG_OUTPUT: join(workspace, "loaded") };
    await run("true; /bin/true", { env: inside });
    expect((await readdir(workspace)).some((name) => name.startsWith("loaded"))).toBe(true);
  });

  test("of another tenant work in its own folder, and a folder that is swapped for a link leads to none", async () => {
    const { run, ask, workspace } = await of("acme");
    const { stdout: folder } = await run("pwd");
    expect(folder.trim()).toMatch(/-workspaces\/acme$/);
    expect((await ask("POST", "/run", { command: "pwd", cwd: workspace })).status).toBe(403);
    await run(`mkdir -p inner && rmdir inner && ln -s ${workspace} inner`);
    expect((await ask("POST", "/run", { command: "pwd", cwd: "inner" })).status).toBe(403);
    expect((await run(`cat ${workspace}/own.txt inner/own.txt 2>/dev/null || echo none`)).stdout).toBe(
      "none\n",
    );
  });

  test("leave nothing behind, however they detach", async () => {
    const { run, start, ask } = await of();
    const mark = `reins-left-${process.pid}`;
    const left = `( ( env -i setsid nohup /bin/sh -c 'exec sleep 600.${process.pid}' >/dev/null 2>&1 & ) & );`;
    expect(await run(`${left} echo ${mark}; sleep 0.3`)).toMatchObject({ exitCode: 0 });
    const id = await start(shell(`${left} trap '' TERM; while :; do sleep 1; done`));
    await ask("POST", `/${id}/kill?waitMs=20000`);
    await expect
      .poll(() => execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }))
      .not.toContain(`sleep 600.${process.pid}`);
  });

  test("have a terminal in the sandbox, too", async () => {
    const { start, ask } = await of();
    const id = await start({ ...shell("tty; stty size; exit 3"), tty: true });
    await expect.poll(async () => (await ask("GET", `/${id}`)).body).toMatchObject({ exitCode: 3 });
    const { entries } = (await ask("GET", `/${id}/logs`)).body;
    const text = entries.map(({ data }: { data: string }) => Buffer.from(data, "base64").toString()).join("");
    expect(text).toMatch(/\/dev\/pts\/\d+/);
  });
});
