import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Catalogue, Installer, ProbeCache, Stamps } from "@reins/agents";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { AdminApi } from "../src/index.ts";
import { uiRoutes } from "../src/ui.ts";
import { stubEntry } from "./fixtures/agent-home.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { Events, type SeenEvent } from "./fixtures/events.ts";
import type { Served } from "./fixtures/home.ts";
import { promptOf, RpcClient } from "./fixtures/rpc-client.ts";
import { PROBED, type Probe, probe, published } from "./fixtures/sandbox-probe.ts";

const STUB = fileURLToPath(new URL("./fixtures/stub-agent.mjs", import.meta.url));
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
  const page = join(base, "page");
  await mkdir(page, { recursive: true });
  await writeFile(join(page, "index.html"), "<!doctype html><html></html>");
  return serveAgents(home(), { more: [...admin.routes, uiRoutes(page)], onAnswered: admin.answered });
}

/** Their own server with the same agent, or undefined where it is not published for this platform. */
async function theirs(
  folder: string,
): Promise<{ readonly address: string; close(): Promise<void> } | undefined> {
  const name = `@sandbox-agent/cli-${process.platform}-${process.arch}`;
  const binary = join(folder, "node_modules", name, "bin", "sandbox-agent");
  if (!existsSync(binary)) return undefined;
  await chmod(binary, 0o755);
  const launchers = join(folder, "data", "sandbox-agent", "bin", "agent_processes");
  await mkdir(launchers, { recursive: true });
  const launcher = `#!/bin/sh\nexec '${process.execPath}' '${STUB}'\n`;
  await writeFile(join(launchers, "pi-acp"), launcher, { mode: 0o755 });
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = Object(listener.address());
  listener.close();
  const args = ["server", "--no-token", "-H", "127.0.0.1", "-p", String(port), "--no-telemetry"];
  const env = { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: join(folder, "data") };
  const child = spawn(binary, args, { stdio: "ignore", detached: true, env });
  const address = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${address}/v1/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isUp, { timeout: 20_000 }).toBe(true);
  return {
    address,
    close: async () => {
      const gone = once(child, "exit");
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      await gone;
    },
  };
}

/** What their server answers and ours refuses, because Reins has no desktop and says so (501). */
const NO_DESKTOP: readonly string[] = [
  "getDesktopStatus",
  "getDesktopStreamStatus",
  "stopDesktopStream",
  "listDesktopRecordings",
  "stopDesktop",
].map((method) => `SandboxAgent.${method}`);

describe.skipIf(!registryAnswers)(`the published clients of Sandbox Agent${NEEDS_REGISTRY}`, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sandbox-clients-"));
    const args = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
    const packages = [`sandbox-agent@${VERSION}`, `acp-http-client@${VERSION}`];
    await promisify(execFile)("npm", [...args, "--prefix", folder, ...packages], { cwd: folder });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("get from every method at least what their own server gives them", async () => {
    const packages = await published(folder);
    expect(PROBED.toSorted(), "each method is called").toEqual(packages.methods.toSorted());
    const served = await serve();
    const ours = await probe(packages, {
      ...{ address: served.address, token: served.access.token, agent: "stub" },
      folder: home().workspace,
    });
    const done = (results: ReadonlyMap<string, Probe>) =>
      [...results].flatMap(([method, result]) => ("value" in result ? [method] : []));
    const server = await theirs(folder);
    const work = join(folder, "work");
    await mkdir(work);
    const other = server && (await probe(packages, { address: server.address, agent: "pi", folder: work }));
    await server?.close();
    const failed = [...ours].flatMap(([method, result]) =>
      "failure" in result ? [`${method}: ${result.failure}`] : [],
    );
    const figures = [`ours ${done(ours).length}`, `theirs ${other ? done(other).length : "not run"}`];
    console.info(`of ${ours.size} methods ${figures.join(", ")}; ours not: ${failed.join("; ")}`);
    const isDesktop = (method: string) => /Desktop/.test(method);
    const missing = done(other ?? new Map()).filter((method) => !done(ours).includes(method));
    expect(missing.toSorted(), failed.join("\n")).toEqual(other ? NO_DESKTOP.toSorted() : []);
    expect(failed.filter((line) => !isDesktop(line)).map((line) => line.split(":", 1)[0])).toEqual([
      // The stub agent has no such setting.
      "SandboxAgent.setSessionThoughtLevel",
      "Session.setThoughtLevel",
    ]);
    for (const [method, result] of other ?? []) {
      const own = ours.get(method);
      if ("value" in result && own && "value" in own && COMPARED.has(method))
        expect([method, missingMembers(result.value, own.value)]).toEqual([method, []]);
    }
  });
});

/** Methods whose results are the server's own words: ours have every member of theirs. */
const COMPARED: ReadonlySet<string> = new Set(
  [
    ...["getHealth", "installAgent", "listAcpServers", "mkdirFs", "writeFsFile", "statFs", "listFsEntries"],
    ...[
      "moveFs",
      "deleteFsEntry",
      "uploadFsBatch",
      "getSkillsConfig",
      "getProcessConfig",
      "setProcessConfig",
    ],
    ...["runProcess", "createProcess", "listProcesses", "getProcess", "sendProcessInput", "getProcessLogs"],
    ...["stopProcess", "killProcess", "resizeProcessTerminal"],
  ].map((method) => `SandboxAgent.${method}`),
);

function missingMembers(theirs: unknown, ours: unknown, at = ""): string[] {
  if (Array.isArray(theirs))
    return theirs.length === 0 ? [] : missingMembers(theirs[0], Object(ours)[0], `${at}[0]`);
  if (typeof theirs !== "object" || theirs === null) return typeof theirs === typeof ours ? [] : [at];
  return Object.entries(theirs).flatMap(([name, value]) =>
    typeof ours === "object" && ours !== null && name in ours
      ? missingMembers(value, Object(ours)[name], `${at}.${name}`)
      : [`${at}.${name}`],
  );
}

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

  test("answer over POST and show what came before on the stream, from the event on that a client names", async () => {
    const served = await serve();
    let id = 0;
    const ask = async (method: string, params: object) => {
      id += 1;
      const body = { jsonrpc: "2.0", id, method, params };
      const answer = await served.ask("POST", "/v1/acp/trip?agent=stub", { headers: JSON_ONLY, body });
      expect([method, answer.status, Object(answer.body).id]).toEqual([method, 200, id]);
      return Object(Object(answer.body).result);
    };
    await ask("initialize", { protocolVersion: 1 });
    const { sessionId } = await ask("session/new", { cwd: home().workspace, mcpServers: [] });
    const open = (headers = {}) => Events.open(served, headers, undefined, "/v1/acp/trip");
    const first = await open();
    expect(await ask("session/prompt", { sessionId, prompt: promptOf(["say one", "say two"]) })).toEqual({
      stopReason: "end_turn",
    });
    const textOf = (event: SeenEvent | undefined) => Object(event?.data).params?.update?.content?.text;
    const until = async (events: Events, text: string) => {
      const seen: SeenEvent[] = [];
      while (textOf(seen.at(-1)) !== text) {
        const event = await events.next();
        if (!event) throw new Error(`the stream ended before ${text}`);
        seen.push(event);
      }
      return seen;
    };
    const seen = await until(first, "two");
    const ids = seen.flatMap((event) => (event.id === undefined ? [] : [Number(event.id)]));
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    first.response.destroy();
    const one = seen.find((event) => textOf(event) === "one");
    const replayed = await until(await open({ "last-event-id": one?.id ?? "" }), "two");
    expect(replayed.filter((event) => textOf(event) === "one")).toEqual([]);
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

  test("give sessions of a user the MCP servers that it stored for their folder, as it stored them", async () => {
    const served = await serve();
    const folder = join(home().workspace, "with-servers");
    await mkdir(folder);
    const store = async (name: string, body: object, as?: string) => {
      const query = `?directory=${encodeURIComponent(folder)}&mcpName=${name}`;
      return (await served.ask("PUT", `/v1/config/mcp${query}`, { body, as })).status;
    };
    const serversIn = async (cwd: string, as?: string, mcpServers: object[] = []) => {
      const client = await RpcClient.open(served, as === undefined ? {} : { as });
      const { sessionId } = await client.result("session/new", { cwd, mcpServers });
      const stream = await client.stream();
      await client.prompt(String(sessionId), "servers");
      await expect.poll(() => stream.said.at(-1)).toContain("servers: ");
      stream.close();
      return stream.said.at(-1)?.replace("servers: ", "").split(",").filter(Boolean).toSorted();
    };
    const local = { type: "local", command: "/bin/true", args: ["a"], env: { A: "1" } };
    expect(await store("tools", local)).toBe(204);
    expect(
      await store("far", { type: "remote", url: "https://tools.example/mcp", headers: { a: "b" } }),
    ).toBe(204);
    expect(await store("off", { ...local, enabled: false })).toBe(204);
    for (const wrong of [
      { ...local, cwd: "/" },
      { type: "remote", url: "https://x.example", oauth: {} },
      { type: "local" },
    ])
      expect(await store("wrong", wrong)).toBe(400);
    expect(await serversIn(folder)).toEqual(["far", "tools"]);
    expect(await serversIn(home().workspace)).toEqual([]);
    const own = { name: "tools", command: "/bin/false", args: [], env: [] };
    expect(await serversIn(folder, undefined, [own])).toEqual(["far", "tools"]);
    const other = await served.person({ roles: ["admin"] });
    expect(await serversIn(folder, other.secret)).toEqual([]);
    // What an agent or a repository writes there is not what the user stored.
    const file = join(folder, ".sandbox-agent/config/mcp.json");
    const stored = JSON.parse(await readFile(file, "utf8"));
    const changed = { ...stored, tools: { ...local, command: "/bin/sh" }, planted: local };
    await writeFile(file, JSON.stringify(changed));
    expect(await serversIn(folder)).toEqual(["far"]);
    await writeFile(file, JSON.stringify(stored));
    expect(await serversIn(folder)).toEqual(["far", "tools"]);
    const gone = `/v1/config/mcp?directory=${encodeURIComponent(folder)}&mcpName=tools`;
    expect((await served.ask("DELETE", gone)).status).toBe(204);
    await writeFile(file, JSON.stringify(stored));
    expect(await serversIn(folder)).toEqual(["far"]);
    const verdicts = await home().ledger.read({ quality: "policy_verdict", limit: 1_000 });
    expect(JSON.stringify(verdicts)).toContain("tools.example");
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

  test("give a terminal its size however early it is asked for", async () => {
    const served = await serve();
    const sizes = [11, 12, 13];
    const start = async (rows: number) => {
      const go = join(home().workspace, `resized-${rows}`);
      const line = `while [ ! -e ${go} ]; do sleep 0.1; done; stty size`;
      const body = { command: "/bin/sh", args: ["-c", line], tty: true };
      const { id } = Object((await served.ask("POST", "/v1/processes", { body })).body);
      const resized = await served.ask("POST", `/v1/processes/${id}/terminal/resize`, {
        body: { cols: 91, rows },
      });
      expect(resized.status).toBe(200);
      await writeFile(go, "");
      const shown = async () => {
        const { entries } = Object((await served.ask("GET", `/v1/processes/${id}/logs`)).body);
        return Buffer.concat(
          entries.map(({ data }: { data: string }) => Buffer.from(data, "base64")),
        ).toString();
      };
      await expect.poll(shown).toBe(`${rows} 91\r\n`);
    };
    await Promise.all(sizes.map(start));
  });

  test("say that there is no desktop", async () => {
    const served = await serve();
    for (const path of ["/v1/desktop/status", "/v1/desktop/mouse/click"]) {
      const { status, body } = await served.ask("POST", path, { body: {} });
      expect([status, Object(body).title]).toEqual([501, "Not Implemented"]);
    }
  });
});
