import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Catalogue, Installer, ProbeCache, RegistrySource, Stamps } from "@reins/agents";
import { AgentList } from "@reins/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentRegistryServer, acpProgram } from "../../agents/test/agent-registry.ts";
import { tarOf } from "../../agents/test/archives.ts";
import { AdminApi } from "../src/index.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { ask, begin } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import type { Served } from "./fixtures/home.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll({ rules: null });
const closed = agentsForAll({
  rules: `tool_rules:
  - { name: no_installs, condition: { tool_name_matches: [agents/install] }, verdict: blocked, reason: installs are closed }
`,
});
const asking = agentsForAll({
  rules: `tool_rules:
  - { name: installs_ask, condition: { tool_name_matches: [agents/install] }, verdict: ask, reason: a person decides }
`,
});
const PATH = "/v1/agents/tiny/install";
const PLATFORM = `${process.platform === "darwin" ? "darwin" : "linux"}-${process.arch === "arm64" ? "aarch64" : "x86_64"}`;
let folder: string;
let published: AgentRegistryServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-shelf-"));
  published = await AgentRegistryServer.listen();
  publish("1.0.0");
});
afterEach(async () => {
  await published[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function publish(version: string): void {
  const path = `/tiny-${version}.tgz`;
  published.files.set(path, gzipSync(tarOf([{ name: "tiny", text: acpProgram(version) }])));
  const binary = { [PLATFORM]: { archive: `${published.origin}${path}`, cmd: "tiny" } };
  published.agents = [{ id: "tiny", name: "Tiny", version, description: "small", distribution: { binary } }];
}

/** A server whose agents come from the registry on loopback. */
function operated(of = home()): Promise<Served> {
  const { hosting, base, harness } = of;
  const environment = { PATH: process.env.PATH, REINS_ACP_REGISTRY_URL: published.url };
  const catalogue = Catalogue.load([], folder);
  const source = new RegistrySource({ folder, environment });
  const registry = {
    catalogue,
    installer: new Installer({ folder, catalogue, environment, registry: source }),
    stamps: new Stamps(folder),
    probes: new ProbeCache(folder),
    added: [],
    isConfined: () => false,
  };
  const admin = new AdminApi({
    hosting: async () => hosting,
    agents: async () => registry,
    ...{ environment, userHome: base, version: "1.2.3" },
  });
  admin.attend(harness, hosting);
  return serveAgents(of, { more: admin.routes, onAnswered: admin.answered });
}

async function listed(served: Served) {
  return AgentList.parse((await served.ask("GET", "/v1/agents")).body);
}

function install(served: Served, accept: string, body: object = {}) {
  const headers = { authorization: `Bearer ${served.access.token}`, accept };
  return ask(served.address, "POST", PATH, { headers, body });
}

describe("clients of ACP", () => {
  test("list and install agents by methods, with the same checks and the same answer", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    await expect.poll(async () => (await listed(served)).registry.state).toBe("current");
    const { agents, registry } = AgentList.parse(await client.result("_sandboxagent/agent/list", {}));
    expect([agents.map(({ agent }) => agent), registry.offered]).toEqual([
      (await listed(served)).agents.map(({ agent }) => agent),
      [expect.objectContaining({ id: "tiny" })],
    ]);
    const method = "_sandboxagent/agent/install";
    const refused = async (params: object, by = client) =>
      Object((await by.request(method, { ...params })).body).error;
    expect(await refused({})).toMatchObject({ code: -32602 });
    expect(await refused({ agent: "none-such" })).toMatchObject({ data: { reins: { code: "not_found" } } });
    expect(await refused({ agent: "tiny", agentVersion: "../x" })).toMatchObject({ code: -32602 });
    for (const person of [await served.person(), await served.person({ tenant: "acme", roles: ["admin"] })]) {
      const other = await RpcClient.open(served, { as: person.secret });
      expect(await refused({ agent: "tiny" }, other)).toMatchObject({
        data: { reins: { code: "forbidden" } },
      });
    }
    expect(await client.result(method, { agent: "tiny" })).toMatchObject({
      already_installed: false,
      artifacts: [{ kind: "agent_process", source: "registry", version: "1.0.0" }],
    });
    expect(await client.result(method, { agent: "tiny" })).toMatchObject({ already_installed: true });
    const verdicts = await home().ledger.read({ quality: "policy_verdict", limit: 1_000 });
    expect(verdicts.filter((entry) => JSON.stringify(entry).includes("agents/install"))).toHaveLength(1);
  });

  test("install nothing that a rule blocks", async () => {
    const served = await operated(closed());
    const client = await RpcClient.open(served);
    const { body } = await client.request("_sandboxagent/agent/install", { agent: "tiny" });
    expect(Object(body).error).toMatchObject({ code: -32010, message: expect.stringContaining("closed") });
    expect((await listed(served)).agents.find(({ agent }) => agent === "tiny")).toBeUndefined();
  });
});

describe("an agent of the registry", () => {
  test("is offered, installed with one answer, and listed with what it can do, its level and its provenance", async () => {
    const served = await operated();
    await expect.poll(async () => (await listed(served)).registry.state).toBe("current");
    const { registry } = await listed(served);
    expect(registry).toMatchObject({
      url: published.url,
      offered: [{ id: "tiny", name: "Tiny", version: "1.0.0", description: "small" }],
    });
    const answer = await install(served, "application/json");
    expect(answer).toMatchObject({
      status: 200,
      body: {
        already_installed: false,
        artifacts: [{ kind: "agent_process", source: "registry", version: "1.0.0" }],
        install: { provenance: "registry", non_registry: false, source: "registry", said: "tiny 1.0.0" },
      },
    });
    expect((await install(served, "application/json")).body).toMatchObject({ already_installed: true });
    const { agents, registry: later } = await listed(served);
    expect(later.offered).toEqual([]);
    expect(agents.find(({ agent }) => agent === "tiny")).toMatchObject({
      install: { version: "1.0.0", update: null, artifact: { sha256: expect.any(String) } },
      capabilities: { agentCapabilities: { loadSession: true } },
      modes: { currentModeId: "ask" },
      enforcement: { level: "observed" },
      verification: { state: "unverified" },
    });
  });

  test("is installed with progress for a client that accepts a stream, and by neither for one that accepts none", async () => {
    const served = await operated();
    const headers = { authorization: `Bearer ${served.access.token}`, accept: "text/event-stream" };
    const { response } = await begin(served.address, "POST", PATH, { headers, body: {} });
    const events = new Events(response);
    for (let phase = ""; phase !== "installed"; ) {
      const next = await events.next();
      expect(next?.event).toBe("progress");
      phase = Object(next?.data).phase;
      expect(["installing", "verifying", "installed"]).toContain(phase);
    }
    expect((await install(served, "text/html")).status).toBe(406);
  });

  test("is installed once, however many ask", async () => {
    const served = await operated();
    const answers = await Promise.all(Array.from({ length: 20 }, () => install(served, "application/json")));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(published.requests.filter((path) => path.endsWith(".tgz"))).toHaveLength(1);
  });

  test("is not reported to a client that asked for another archive", async () => {
    const served = await operated();
    const [any, other] = await Promise.all([
      install(served, "application/json"),
      install(served, "application/json", { sha256: "0".repeat(64) }),
    ]);
    expect(any.status).toBe(200);
    expect([409, 502]).toContain(other.status);
  });

  test("is updated only when that is asked for", async () => {
    const served = await operated();
    await install(served, "application/json");
    publish("1.1.0");
    await rm(join(folder, "registry.json"));
    await expect.poll(async () => (await listed(served)).registry.state).toBe("current");
    const tiny = (await listed(served)).agents.find(({ agent }) => agent === "tiny");
    expect(tiny?.install).toMatchObject({ version: "1.0.0", update: "1.1.0" });
    const same = await install(served, "application/json");
    expect(same.body).toMatchObject({ already_installed: true, install: { version: "1.0.0" } });
    const updated = await install(served, "application/json", { update: true });
    expect(updated.body).toMatchObject({ already_installed: false, install: { version: "1.1.0" } });
  });

  test("is installed after a verdict that is on record, and its end is recorded", async () => {
    await install(await operated(), "application/json");
    const entries = (await home().ledger.read({ limit: 1_000 })).map(({ entry }) => entry);
    const done = entries.findLastIndex(({ target }) => target === "agents/install");
    const verdict = entries.findIndex(({ cid }) => cid === Object(entries[done]?.payload).verdict);
    expect([entries[verdict], entries[done]]).toMatchObject([
      { quality: "policy_verdict", payload: { rule: "operators_install_agents" } },
      { quality: "tool_result", tags: ["completed"] },
    ]);
    expect(verdict).toBeLessThan(done);
  });

  test("is not fetched when a rule forbids it", async () => {
    const served = await operated(closed());
    const answer = await install(served, "application/json");
    expect([answer.status, Object(answer.body).detail]).toEqual([
      403,
      expect.stringContaining("installs are closed"),
    ]);
    const headers = { authorization: `Bearer ${served.access.token}`, accept: "text/event-stream" };
    const { response } = await begin(served.address, "POST", PATH, { headers, body: {} });
    expect(await new Events(response).next()).toMatchObject({ data: { phase: "failed" } });
    expect(published.requests.filter((path) => path.endsWith(".tgz"))).toEqual([]);
  });

  test("shows the approval that it waits for, and is fetched as what that was about or not at all", async () => {
    const served = await operated(asking());
    const asked = async () => {
      const headers = { authorization: `Bearer ${served.access.token}`, accept: "text/event-stream" };
      const { response } = await begin(served.address, "POST", PATH, { headers, body: {} });
      const events = new Events(response);
      const { data } = (await events.next()) ?? {};
      expect(data).toMatchObject({ phase: "asked", approval: expect.any(String) });
      return { events, place: `/v1/approvals/${Object(data).approval}/answer` };
    };
    const first = await asked();
    publish("1.1.0");
    await rm(join(folder, "registry.json"));
    await served.ask("POST", first.place, { body: { decision: "allow_once" } });
    expect(await first.events.next()).toMatchObject({
      data: { phase: "failed", message: expect.stringContaining("no longer what was decided about") },
    });
    const second = await asked();
    await served.ask("POST", second.place, { body: { decision: "allow_once" } });
    for (let phase = ""; phase !== "installed"; ) {
      phase = Object((await second.events.next())?.data).phase;
      expect(["installing", "verifying", "installed"]).toContain(phase);
    }
    expect(published.requests.filter((path) => path.endsWith(".tgz"))).toEqual(["/tiny-1.1.0.tgz"]);
  });

  test("is a problem when it cannot be fetched, is unknown, or is asked for by others than operators", async () => {
    const served = await operated();
    published.files.delete("/tiny-1.0.0.tgz");
    expect(await install(served, "application/json")).toMatchObject({ status: 502 });
    expect((await served.ask("POST", "/v1/agents/nothing/install", { body: {} })).status).toBe(404);
    expect((await served.ask("POST", "/v1/agents/__proto__/install", { body: {} })).status).toBe(404);
    const acme = await served.person({ tenant: "acme", roles: ["admin"] });
    const person = await served.person();
    for (const { secret: as } of [acme, person])
      expect((await served.ask("POST", PATH, { as, body: {} })).status).toBe(403);
    expect(published.requests.filter((path) => path.endsWith(".tgz"))).toHaveLength(1);
  });
});
