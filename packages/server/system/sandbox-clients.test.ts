import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Catalogue, Installer, ProbeCache, Stamps } from "@reins/agents";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { AdminApi } from "../src/index.ts";
import { stubEntry } from "./fixtures/agent-home.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Served } from "./fixtures/home.ts";
import { tarOf } from "./fixtures/tar.ts";

const VERSION = "0.4.2";
const home = agentsForAll({
  rules: `
tool_rules:
  - { name: writes, condition: { tool_name_matches: [Write] }, verdict: ask, reason: people decide }
  - { name: rest, condition: {}, verdict: allowed }
`,
});

/** Serves a home with everything that the clients ask for. */
async function serve(): Promise<Served> {
  const { hosting, harness, base } = home();
  const [folder, environment] = [join(base, "agents"), {}];
  const added = [stubEntry("stub")];
  const catalogue = Catalogue.load(added);
  const registry = {
    ...{ catalogue, added, isConfined: () => false },
    installer: new Installer({ folder, catalogue, environment, offline: true }),
    stamps: new Stamps(folder),
    probes: new ProbeCache(folder),
  };
  const admin = new AdminApi({
    hosting: async () => hosting,
    agents: async () => registry,
    ...{ environment, userHome: base, version: "1.2.3" },
  });
  admin.attend(harness, hosting);
  return serveAgents(home(), { more: admin.routes, onAnswered: admin.answered });
}

/** What the published clients are and return: the test installs them, so their types are not known here. */
type Client = ReturnType<typeof Object>;

describe.skipIf(!registryAnswers)(`the published clients of Sandbox Agent${NEEDS_REGISTRY}`, () => {
  let folder: string;
  const module = (name: string): Promise<Client> =>
    import(pathToFileURL(join(folder, "node_modules", name, "dist/index.js")).href);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sandbox-clients-"));
    const args = ["install", "--no-save", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"];
    const packages = [`sandbox-agent@${VERSION}`, `acp-http-client@${VERSION}`];
    await promisify(execFile)("npm", [...args, "--prefix", folder, ...packages], { cwd: folder });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("get what they ask for: at least 37 of 45 calls, as their own server gives them", async () => {
    const served = await serve();
    const { SandboxAgent } = await module("sandbox-agent");
    const sdk = await SandboxAgent.connect({ baseUrl: served.address, token: served.access.token });
    const cwd = home().workspace;
    const failed: string[] = [];
    let calls = 0;
    const call = async (name: string, run: () => Promise<unknown>): Promise<Client> => {
      calls += 1;
      try {
        return await run();
      } catch (error) {
        failed.push(`${name}: ${String(error)}`);
        return undefined;
      }
    };
    const check = (isTrue: unknown, what: string) => {
      if (!isTrue) throw new Error(what);
    };
    await call("getHealth", async () => check((await sdk.getHealth()).status === "ok", "not ok"));
    await call("listAgents", async () => {
      const { agents } = await sdk.listAgents();
      check(
        agents.some(({ id }: Client) => id === "stub"),
        "no stub",
      );
    });
    await call("listAgents config", () => sdk.listAgents({ config: true }));
    await call("getAgent", async () => check((await sdk.getAgent("stub")).id === "stub", "another"));
    await call("getAgent config", () => sdk.getAgent("stub", { config: true }));
    await call("installAgent", async () =>
      check(Array.isArray((await sdk.installAgent("stub", {})).artifacts), "no artifacts"),
    );
    const session = await call("createSession", () => sdk.createSession({ agent: "stub", cwd }));
    const said: string[] = [];
    session.onEvent(({ payload }: Client) => said.push(JSON.stringify(payload)));
    await call("listAcpServers", async () =>
      check((await sdk.listAcpServers()).servers.length === 1, "not one server"),
    );
    await call("prompt", async () => {
      const { stopReason } = await session.prompt([{ type: "text", text: "say hello" }]);
      check(stopReason === "end_turn", stopReason);
      await expect.poll(() => said.join("\n")).toContain("hello");
    });
    await call("permission", async () => {
      session.onPermissionRequest(({ id }: Client) => void session.respondPermission(id, "once"));
      await session.prompt([{ type: "text", text: `write ${join(cwd, "permitted")}` }]);
      await expect.poll(() => said.join("\n")).toContain("completed");
    });
    await call("permission denied", async () => {
      const other = await sdk.createSession({ agent: "stub", cwd });
      other.onPermissionRequest(({ id }: Client) => void other.respondPermission(id, "reject"));
      await other.prompt([{ type: "text", text: `write ${join(cwd, "denied")}` }]);
    });
    await call("setMode", () => session.setMode("ask"));
    await call("setModel", () => session.setModel("large"));
    await call("setThoughtLevel", () => session.setThoughtLevel("high"));
    await call("getConfigOptions", () => session.getConfigOptions());
    await call("getModes", () => session.getModes());
    await call("rawSend", () => session.rawSend("session/set_mode", { modeId: "ask" }));
    await call("resumeSession", () => sdk.resumeSession(session.id));
    await call("listSessions", () => sdk.listSessions());
    await call("getEvents", () => sdk.getEvents({ sessionId: session.id }));
    await call("destroySession", () => sdk.destroySession(session.id));
    const path = join(cwd, "fs/file.txt");
    await call("mkdirFs", () => sdk.mkdirFs({ path: join(cwd, "fs") }));
    await call("writeFsFile", async () =>
      check((await sdk.writeFsFile({ path }, "text")).bytesWritten === 4, "not 4"),
    );
    await call("readFsFile", async () =>
      check(new TextDecoder().decode(await sdk.readFsFile({ path })) === "text", "another text"),
    );
    await call("statFs", async () => check((await sdk.statFs({ path })).entryType === "file", "no file"));
    await call("listFsEntries", async () =>
      check((await sdk.listFsEntries({ path: join(cwd, "fs") })).length === 1, "not one"),
    );
    await call("moveFs", () => sdk.moveFs({ from: path, to: `${path}.moved` }));
    await call("deleteFsEntry", () => sdk.deleteFsEntry({ path: `${path}.moved` }));
    await call("uploadFsBatch", async () =>
      check(
        (await sdk.uploadFsBatch(tarOf({ name: "a", content: "a" }), { path: join(cwd, "up") })).paths
          .length === 1,
        "not one",
      ),
    );
    const mcp = { directory: cwd, mcpName: "tools" };
    const skills = { directory: cwd, skillName: "all" };
    await call("setMcpConfig", () => sdk.setMcpConfig(mcp, { type: "local", command: "tools" }));
    await call("getMcpConfig", async () =>
      check((await sdk.getMcpConfig(mcp)).command === "tools", "another"),
    );
    await call("deleteMcpConfig", () => sdk.deleteMcpConfig(mcp));
    await call("setSkillsConfig", () =>
      sdk.setSkillsConfig(skills, { sources: [{ type: "local", source: "." }] }),
    );
    await call("getSkillsConfig", async () =>
      check((await sdk.getSkillsConfig(skills)).sources.length === 1, "not one"),
    );
    await call("deleteSkillsConfig", () => sdk.deleteSkillsConfig(skills));
    await call("getProcessConfig", () => sdk.getProcessConfig());
    await call("runProcess", async () => {
      const { exitCode, stdout } = await sdk.runProcess({ command: "echo", args: ["hi"], cwd });
      check(exitCode === 0 && stdout === "hi\n", `${exitCode} ${stdout}`);
    });
    const started = await call("createProcess", () =>
      sdk.createProcess({ command: "cat", interactive: true, cwd }),
    );
    await call("listProcesses", async () =>
      check((await sdk.listProcesses()).processes.length === 1, "not one"),
    );
    await call("sendProcessInput", () =>
      sdk.sendProcessInput(started.id, {
        data: Buffer.from("echoed\n").toString("base64"),
        encoding: "base64",
      }),
    );
    await call("followProcessLogs", async () => {
      const entries: string[] = [];
      const { close } = await sdk.followProcessLogs(started.id, ({ data }: Client) => entries.push(data));
      await expect.poll(() => Buffer.from(entries.join(""), "base64").toString()).toBe("echoed\n");
      close();
    });
    await call("getProcessLogs", async () =>
      check((await sdk.getProcessLogs(started.id)).entries.length === 1, "not one"),
    );
    await call("stopProcess", async () =>
      check((await sdk.stopProcess(started.id, { waitMs: 10_000 })).status === "exited", "runs"),
    );
    await call("deleteProcess", () => sdk.deleteProcess(started.id));
    await call("getDesktopStatus", () => sdk.getDesktopStatus());
    await sdk.dispose();
    console.info(`${calls - failed.length} of ${calls} calls succeed; not: ${failed.join("; ")}`);
    expect(calls).toBe(45);
    expect(calls - failed.length, failed.join("\n")).toBeGreaterThanOrEqual(37);
    expect(failed.some((line) => line.startsWith("getDesktopStatus"))).toBe(true);
  });

  test("prompt an agent by acp-http-client alone", async () => {
    const served = await serve();
    const { AcpHttpClient } = await module("acp-http-client");
    const updates: string[] = [];
    const client = new AcpHttpClient({
      baseUrl: served.address,
      token: served.access.token,
      transport: { path: "/v1/acp/alone", bootstrapQuery: { agent: "stub" } },
      client: { sessionUpdate: async (update: unknown) => void updates.push(JSON.stringify(update)) },
    });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: home().workspace, mcpServers: [] });
    const { stopReason } = await client.prompt({ sessionId, prompt: [{ type: "text", text: "say alone" }] });
    expect(stopReason).toBe("end_turn");
    await expect.poll(() => updates.join()).toContain("alone");
    await client.disconnect();
  });
});

describe("the routes of Sandbox Agent", () => {
  const INITIALIZE = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
  const JSON_ONLY = { accept: "application/json" };

  test("open a connection with the first message, which names the agent", async () => {
    const served = await serve();
    const post = (path: string, headers: Record<string, string> = JSON_ONLY, body: unknown = INITIALIZE) =>
      served.ask("POST", `/v1/acp/${path}`, { headers, body });
    expect((await post("one")).status).toBe(400);
    expect((await post("one?agent=unknown")).status).toBe(400);
    expect((await post("one?agent=dying")).status).toBe(502);
    expect((await post("one?agent=stub")).status).toBe(200);
    expect((await post("one?agent=missing")).status).toBe(409);
    expect((await post("one", { accept: "text/html" })).status).toBe(406);
    expect((await post("one", { ...JSON_ONLY, "content-type": "text/plain" }, "x")).status).toBe(415);
    expect((await post("one", JSON_ONLY, { jsonrpc: "2.0" })).status).toBe(400);
    expect(
      (await post("one", JSON_ONLY, { jsonrpc: "2.0", method: "session/cancel", params: {} })).status,
    ).toBe(202);
    const listed = Object((await served.ask("GET", "/v1/acp")).body).servers;
    expect(listed).toEqual([{ serverId: "one", agent: "stub", createdAtMs: expect.any(Number) }]);
    const other = await served.person();
    expect((await served.ask("GET", "/v1/acp", { as: other.secret })).body).toEqual({ servers: [] });
    const stream = { accept: "text/event-stream" };
    expect((await served.ask("GET", "/v1/acp/one", { headers: stream, as: other.secret })).status).toBe(404);
    expect((await served.ask("GET", "/v1/acp/none", { headers: stream })).status).toBe(404);
    const odd = { ...stream, "last-event-id": "x" };
    expect((await served.ask("GET", "/v1/acp/one", { headers: odd })).status).toBe(400);
    for (const id of ["one", "one", "never"])
      expect((await served.ask("DELETE", `/v1/acp/${id}`)).status).toBe(204);
    expect((await post("one")).status).toBe(400);
  });

  test("store settings for a folder, and need its name", async () => {
    const served = await serve();
    const at = (name: string) => `?directory=${encodeURIComponent(home().workspace)}${name}`;
    for (const [path, name, body] of [
      ["/v1/config/mcp", "&mcpName=a", { type: "local", command: "x", unknown: 1 }],
      ["/v1/config/skills", "&skillName=a", { sources: [{ type: "local", source: "." }] }],
    ] as const) {
      expect((await served.ask("GET", `${path}${at("")}`)).status).toBe(400);
      expect((await served.ask("GET", `${path}?${name}`)).status).toBe(400);
      expect((await served.ask("GET", `${path}${at(name)}`)).status).toBe(404);
      expect((await served.ask("PUT", `${path}${at(name)}`, { body })).status).toBe(204);
      expect((await served.ask("GET", `${path}${at(name)}`)).body).toEqual(body);
      expect((await served.ask("PUT", `${path}${at(name)}`, { body: {} })).status).toBe(400);
      expect((await served.ask("DELETE", `${path}${at(name)}`)).status).toBe(204);
      expect((await served.ask("GET", `${path}${at(name)}`)).status).toBe(404);
    }
  });

  test("run commands of their caller alone, and end what runs too long", async () => {
    const served = await serve();
    const run = async (body: object) =>
      Object((await served.ask("POST", "/v1/processes/run", { body })).body);
    const shell = (line: string) => ({ command: "/bin/sh", args: ["-c", line] });
    expect(await run(shell("echo out; echo err >&2; exit 3"))).toMatchObject({
      ...{ exitCode: 3, stdout: "out\n", stderr: "err\n", timedOut: false },
    });
    expect(await run({ ...shell("sleep 600 & sleep 600"), timeoutMs: 50 })).toMatchObject({ timedOut: true });
    expect(await run({ ...shell("echo 12345"), maxOutputBytes: 2 })).toMatchObject({
      ...{ stdout: "12", stdoutTruncated: true },
    });
    expect((await run({ command: "no-such-command" })).status).toBe(409);
    expect((await run({ command: "pwd", cwd: "/proc/self" })).status).toBe(403);
    const start = (body: object) => served.ask("POST", "/v1/processes", { body });
    expect((await start({ command: "cat", tty: true })).status).toBe(501);
    const { id } = Object((await start({ command: "cat", interactive: true })).body);
    const other = await served.person({ roles: ["admin"] });
    expect((await served.ask("GET", `/v1/processes/${id}`, { as: other.secret })).status).toBe(404);
    expect((await served.ask("DELETE", `/v1/processes/${id}`)).status).toBe(409);
    const resize = { body: { cols: 1, rows: 1 } };
    expect((await served.ask("POST", `/v1/processes/${id}/terminal/resize`, resize)).status).toBe(409);
    const killed = await served.ask("POST", `/v1/processes/${id}/kill?waitMs=20000`);
    expect(killed.body).toMatchObject({ status: "exited" });
    expect((await served.ask("DELETE", `/v1/processes/${id}`)).status).toBe(204);
    const { ledger } = home();
    const verdicts = await ledger.read({ quality: "policy_verdict", limit: 1_000 });
    expect(JSON.stringify(verdicts.slice(-4))).toContain("terminal/create");
  });

  test("say that there is no desktop", async () => {
    const served = await serve();
    for (const path of ["/v1/desktop/status", "/v1/desktop/mouse/click"]) {
      const { status, body } = await served.ask("POST", path, { body: {} });
      expect([status, Object(body).title]).toEqual([501, "Not Implemented"]);
    }
  });
});
