import { existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@reins/kit";
import { Owner } from "@reins/runner";
import { describe, expect, onTestFinished, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { lifelinesOf } from "../../runner/torture/trees/residents.ts";
import { McpGateway } from "../src/gateway.ts";
import type { McpLimits } from "../src/limits.ts";
import { spawnOwned } from "../src/server/process-link.ts";
import { connect, textIn } from "./fixtures/client.ts";
import { RecordingGate } from "./fixtures/gate.ts";
import { redactor, stdioServer, wrapped } from "./fixtures/home.ts";
import { KEY, openHostile } from "./fixtures/hostile-home.ts";
import { RawAgent } from "./fixtures/raw-agent.ts";

const limits = { cancelMs: 200, firstBackoffMs: 20, mostBackoffMs: 200, stopMs: 500, startMs: 5_000 };
const open = (more: Partial<McpLimits> = {}) => openHostile({ options: { limits: { ...limits, ...more } } });

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a server that ends", () => {
  test("fails every call at once, with its exit code and last words, but not its secrets", async () => {
    const { agent, gate } = await open();
    const silent = [agent.call(1, "silent"), agent.call(2, "silent")];
    await expect.poll(() => gate.decided.length).toBe(2);
    const answers = await Promise.all([...silent, agent.call(3, "crash")]);
    for (const { error } of answers) {
      expect(error).toMatchObject({
        message: expect.stringMatching(
          /lab ended with exit code 3; its last words: .*segmentation fault, really/s,
        ),
        data: { exitCode: 3, signal: null, stderr: expect.stringContaining("segmentation fault") },
      });
      expect(JSON.stringify(error)).not.toContain(KEY);
    }
    expect(gate.reported.map(({ outcome }) => outcome.kind)).toEqual(["unknown", "unknown", "unknown"]);
  });

  test("is started again by the next call, and introduced to the agent", async () => {
    const { agent, gate, reached, starts } = await open();
    await agent.call(1, "crash");
    expect(textIn((await agent.call(2, "polite")).result)).toBe("here you are");
    expect(gate.reported.map(({ outcome }) => outcome.kind)).toEqual(["unknown", "completed"]);
    expect(await starts()).toHaveLength(2);
    const introductions = (await reached()).filter(({ method }) => method === "initialize");
    expect(introductions).toHaveLength(2);
    expect(introductions[0]?.params).toEqual(introductions[1]?.params);
    expect((await reached()).filter(({ method }) => method === "notifications/initialized")).toHaveLength(2);
  });

  test("is not started again by what needs no answer", async () => {
    const { agent, starts } = await open();
    await agent.call(1, "crash");
    agent.say({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    await sleep(100);
    expect(await starts()).toHaveLength(1);
  });

  test("has said what it said before it went", async () => {
    const { agent, gate } = await open();
    expect(textIn((await agent.call(1, "last_words")).result)).toBe("farewell");
    expect(gate.reported).toMatchObject([{ outcome: { kind: "completed" } }]);
  });

  test("counts as ended when it cannot speak any more", async () => {
    const { agent, starts } = await open();
    const answer = await agent.call(1, "mute");
    expect(answer.error).toMatchObject({ message: expect.stringContaining("closed its output") });
    await expect.poll(async () => isRunning((await starts())[0] ?? 0)).toBe(false);
  });

  test("waits longer each time before it is started again", async () => {
    const { agent, wrapped: server } = await open();
    for (let crash = 1; crash <= 4; crash += 1) await agent.call(crash, "crash");
    expect(textIn((await agent.call(5, "polite")).result)).toBe("here you are");
    expect(server.faults()).toMatchObject({ server_lost: 4 });
  });

  test("leaves with the agent", async () => {
    const { agent, gate, starts } = await open();
    const call = agent.call(1, "silent").catch(() => undefined);
    await expect.poll(() => gate.decided.length).toBe(1);
    agent.kill();
    await expect.poll(() => gate.reported).toMatchObject([{ outcome: { kind: "unknown" } }]);
    await expect.poll(async () => isRunning((await starts())[0] ?? 0)).toBe(false);
    void call;
  });

  test("leaves when the agent says good-bye, and so does what the agent ran", async () => {
    const { agent, starts } = await open();
    await agent.call(1, "polite");
    await agent.leave();
    await expect.poll(async () => isRunning((await starts())[0] ?? 0)).toBe(false);
    expect(agent.stderr).toBe("");
  });
});

describe("a server that cannot be started", () => {
  test("is said to be", async () => {
    const server = { name: "ghost", command: join(tmpdir(), "no-such-program"), args: [], env: [] };
    const { wrapped: ghost } = await wrapped(server, "stdio", { limits });
    await expect(connect(ghost.server)).rejects.toThrow(
      /the MCP server ghost could not be started: .*no-such-program is not a command/,
    );
  });

  test("and never answers is given up after its time", async () => {
    const server = {
      name: "deaf",
      command: process.execPath,
      args: ["-e", "setInterval(() => {}, 1e6)"],
      env: [],
    };
    const { wrapped: deaf } = await wrapped(server, "stdio", { limits: { ...limits, startMs: 300 } });
    await expect(connect(deaf.server)).rejects.toThrow(/deaf did not answer within 300 ms of its start/);
  });

  test("with another protocol than before is not taken for the same", async () => {
    const script = `
      const fs = require("node:fs");
      const version = fs.existsSync(process.argv[1]) ? "2024-11-05" : "2025-06-18";
      fs.writeFileSync(process.argv[1], "");
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const result = { protocolVersion: version, capabilities: {}, serverInfo: { name: "s", version: "1" } };
        if (method === "initialize") console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
        if (method === "tools/call") process.exit(1);
      });`;
    const marker = join(tmpdir(), `mcp-version-${process.pid}`);
    onTestFinished(() => rm(marker, { force: true }));
    const server = { name: "fickle", command: process.execPath, args: ["-e", script, marker], env: [] };
    const { wrapped: fickle, gate } = await wrapped(server, "stdio", { limits: { ...limits, startMs: 500 } });
    const agent = RawAgent.start(fickle.server);
    await agent.introduce();
    gate.mayUse = () => true;
    await agent.ask(0, "tools/call", { name: "x" });
    const answer = await agent.ask(1, "tools/call", { name: "x" });
    expect(answer.error).toMatchObject({
      message: expect.stringContaining("came back with another protocol version"),
    });
    expect(gate.reported.map(({ outcome }) => outcome)).toMatchObject([
      { kind: "unknown" },
      { kind: "failed", performed: false },
    ]);
  });
});

describe("bounds", () => {
  test("hold for calls under way, and what is beyond is refused", async () => {
    const { agent, gate } = await open({ callsInFlight: 3 });
    for (let id = 1; id <= 3; id += 1) void agent.call(id, "silent").catch(() => undefined);
    await expect.poll(() => gate.decided.length).toBe(3);
    const answer = await agent.call(4, "polite");
    expect(textIn(answer.result)).toContain("more than 3 calls are under way");
    expect(gate.decided).toHaveLength(3);
    agent.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    await expect.poll(() => gate.reported.length).toBe(1);
    expect(textIn((await agent.call(5, "polite")).result)).toBe("here you are");
  });

  test("hold for verdicts that are waited for, however many requests may be under way", async () => {
    const { agent, gate } = await open({ callsInFlight: 1, requestsInFlight: 8 });
    const verdict = Promise.withResolvers<void>();
    gate.decision = async (call) => {
      await verdict.promise;
      return { allowed: true, arguments: call.arguments };
    };
    const first = agent.ask(1, "echo/any");
    await expect.poll(() => gate.decided.length).toBe(1);
    const { error } = await agent.ask(2, "echo/any");
    expect(error).toMatchObject({
      message: expect.stringContaining("too many messages wait for a verdict"),
    });
    verdict.resolve();
    expect((await first).result).toMatchObject({ heard: true });
    expect((await agent.ask(3, "echo/any")).result).toMatchObject({ heard: true });
    expect(gate.decided).toHaveLength(2);
  });

  test("hold for other requests, and for connections", async () => {
    const bounds = { callsInFlight: 1, requestsInFlight: 1, connections: 1 };
    const { agent, wrapped: server, gate, reached } = await open(bounds);
    const passed = async () => (await reached()).filter(({ method }) => method === "never/answered").length;
    // One after the other: only one verdict may be waited for, and what is refused for that is not under way.
    for (const id of [1, 2]) {
      void agent.ask(id, "never/answered").catch(() => undefined);
      await expect.poll(passed).toBe(id);
    }
    const answer = await agent.ask(3, "never/answered");
    expect(answer.error).toMatchObject({ message: "too many requests are under way" });
    expect(gate.decided).toHaveLength(2);
    const second = RawAgent.start(server.server);
    await second.exited;
    expect(second.lines).toEqual([]);
  });
});

describe("what a server gets to see", () => {
  test("is the environment it needs and what its declaration names", async () => {
    process.env.REINS_TEST_SECRET = "not for servers";
    const { wrapped: server } = await wrapped(stdioServer("lab-stdio.ts", [], { LAB_KEY: KEY }), "stdio", {
      limits,
    });
    const client = await connect(server.server);
    const seen = JSON.parse(textIn(await client.callTool({ name: "environment" })));
    delete process.env.REINS_TEST_SECRET;
    expect(seen).toMatchObject({ PATH: process.env.PATH, LAB_KEY: KEY });
    expect(seen).not.toHaveProperty("REINS_TEST_SECRET");
    expect(Object.keys(seen).filter((name) => name.startsWith("REINS"))).toEqual(["REINS_PROCESS"]);
    expect(JSON.stringify(server.server)).not.toContain(KEY);
  });

  test("is the folder of the session, and its own process group", async () => {
    const spawn = spawnOwned(new Owner(tmpdir()), { now: () => new Date(), after: () => () => {} });
    const child = await spawn(process.execPath, ["-e", "console.log(process.cwd())"], {}, tmpdir());
    const [line] = await child.stdout.take(1).toArray();
    expect(String(line).trim()).toBe(tmpdir());
    expect(await child.exited).toEqual({ code: 0, signal: null });
    await child.kill();
  });
});

/** Two that leave its group, one of them without its environment, and do not end when they are asked to. */
const STRAYS = `trap '' TERM HUP
(setsid sh -c 'trap "" TERM; echo $$ > stray; sleep 100; sleep 100' &)
(env -i setsid sh -c 'trap "" TERM; echo $$ > scrubbed; sleep 100; sleep 100' > /dev/null 2>&1 < /dev/null &)
while :; do sleep 1; done`;

requirement(
  "Linux",
  process.platform === "linux",
  "marks are found in /proc",
)("whatever a server starts", () => {
  test("ends with it, and would end with us", async () => {
    const home = await realpath(await mkdtemp(join(tmpdir(), "reins-mcp-")));
    onTestFinished(() => rm(home, { recursive: true }));
    const spawn = spawnOwned(new Owner(home), systemClock);
    const server = await spawn("/bin/sh", ["-c", STRAYS], { PATH: process.env.PATH ?? "" }, home);
    const pidIn = async (name: string) => Number(await readFile(join(home, name), "utf8").catch(() => "0"));
    await expect.poll(async () => (await pidIn("stray")) * (await pidIn("scrubbed"))).toBeGreaterThan(0);
    const strays = [await pidIn("stray"), await pidIn("scrubbed")];
    expect(strays.filter(isRunning)).toEqual(strays);
    expect(lifelinesOf(home)).toHaveLength(1);
    await server.kill();
    expect(await server.exited).toMatchObject({ signal: "SIGKILL" });
    await expect.poll(() => strays.filter(isRunning)).toEqual([]);
    await expect.poll(() => lifelinesOf(home)).toEqual([]);
  });
});

describe("what an agent is given", () => {
  test("is a program that says a secret at a socket that only we can open", async () => {
    const gateway = await McpGateway.open({ redactor });
    const declared = { ...stdioServer("lab-stdio.ts"), _meta: { kept: true } };
    const { server } = await gateway.wrap(declared, new RecordingGate(), "stdio", { cwd: tmpdir() });
    expect(server).toEqual({
      name: "lab",
      command: process.execPath,
      args: [gateway.shimPath],
      env: [
        { name: "REINS_MCP_SOCKET", value: gateway.socketPath },
        { name: "REINS_MCP_SECRET", value: expect.stringMatching(/^[\w-]{43}$/) },
      ],
      _meta: { kept: true },
    });
    expect(statSync(dirname(gateway.socketPath)).mode & 0o777).toBe(0o700);
    expect(statSync(gateway.socketPath).mode & 0o777).toBe(0o600);
    await gateway.close();
    expect(existsSync(dirname(gateway.socketPath))).toBe(false);
  });

  test("is worth nothing with another secret, or after its server was closed", async () => {
    const { gateway, wrapped: lab } = await wrapped(stdioServer("lab-stdio.ts"), "stdio", { limits });
    const withSecret = (value: string) => ({
      ...stdioServer("lab-stdio.ts"),
      args: [gateway.shimPath],
      env: [
        { name: "REINS_MCP_SOCKET", value: gateway.socketPath },
        { name: "REINS_MCP_SECRET", value },
      ],
    });
    const stranger = RawAgent.start(withSecret("x".repeat(43)));
    stranger.say({ jsonrpc: "2.0", id: 1, method: "ping" });
    await stranger.exited;
    expect(stranger.lines).toEqual([]);
    await lab.close();
    const late = RawAgent.start(lab.server);
    await late.exited;
    expect(late.lines).toEqual([]);
  });

  test("says so when the gateway is gone", async () => {
    const gateway = await McpGateway.open({ redactor });
    const { server } = await gateway.wrap(stdioServer("lab-stdio.ts"), new RecordingGate(), "stdio", {
      cwd: tmpdir(),
    });
    await gateway.close();
    const agent = RawAgent.start(server);
    expect((await agent.exited)[0]).toBe(1);
    expect(agent.stderr).toMatch(/^reins: the MCP gateway cannot be reached: .*ENOENT/);
    await expect(
      gateway.wrap(stdioServer("lab-stdio.ts"), new RecordingGate(), "stdio", { cwd: "/" }),
    ).rejects.toMatchObject({ code: "closed" });
  });

  test("cannot be made where the path is too long for a socket", async () => {
    const folder = join(tmpdir(), "x".repeat(100));
    await mkdir(folder, { recursive: true });
    onTestFinished(() => rm(folder, { recursive: true }));
    const refused = { code: "cannot_listen", message: expect.stringContaining("too long for a Unix socket") };
    await expect(McpGateway.open({ redactor, folder })).rejects.toMatchObject(refused);
    expect(await readdir(folder)).toEqual([]);
    await expect(McpGateway.open({ redactor, folder: join(folder, "none") })).rejects.toMatchObject({
      code: "cannot_listen",
    });
  });

  test("is refused for what is no server", async () => {
    const gateway = await McpGateway.open({ redactor });
    const wrap = (server: object) => gateway.wrap(Object(server), new RecordingGate(), "stdio", { cwd: "/" });
    for (const server of [
      { name: "x" },
      { name: "x", type: "acp", serverId: "1" },
      { name: "x", type: "http", url: "file:///etc/passwd", headers: [] },
      { name: "a\u202eb", command: "x", args: [], env: [] },
    ]) {
      await expect(wrap(server)).rejects.toMatchObject({ code: "invalid_server" });
    }
    await gateway.close();
  });
});
