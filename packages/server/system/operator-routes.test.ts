import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Catalogue, Installer, ProbeCache, Stamps } from "@reins/agents";
import {
  AgentDetail,
  AgentList,
  AgentProcessList,
  KillReport,
  Overview,
  RequestPage,
  WirePage,
} from "@reins/api";
import type { WireTap } from "@reins/host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AdminApi } from "../src/index.ts";
import { stubEntry } from "./fixtures/agent-home.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import type { Served } from "./fixtures/home.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

/** Of the admin that was opened last. */
let tap: WireTap = () => undefined;
const home = agentsForAll({ hosting: { killSocket: true, tap: (passing) => tap(passing) } });
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-shelf-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** A server with everything by which it is operated. */
function operated(): Promise<Served> {
  const { hosting, base } = home();
  const added = [{ ...stubEntry("stub"), credentials: { variables: ["STUB_KEY", "OTHER_KEY"] } }];
  const catalogue = Catalogue.load(added);
  const environment = { PATH: process.env.PATH, STUB_KEY: "hush-hush" };
  const installer = new Installer({ folder, catalogue, environment });
  const registry = {
    catalogue,
    installer,
    stamps: new Stamps(folder),
    probes: new ProbeCache(folder),
    added,
  };
  const agents = async () => ({ ...registry, isConfined: () => false });
  const admin = new AdminApi({
    hosting: async () => hosting,
    ...{ agents, environment, userHome: base, version: "1.2.3" },
  });
  tap = admin.tap;
  admin.attend(home().harness, hosting);
  return serveAgents(home(), { more: admin.routes, onAnswered: admin.answered });
}

async function processes(served: Served, as?: string) {
  const { body } = await served.ask("GET", "/v1/agent-processes", { as });
  return AgentProcessList.parse(body).processes;
}

async function kill(served: Served, body: object, as?: string) {
  const answer = await served.ask("POST", "/v1/kill", { body, as });
  return { status: answer.status, report: answer.status === 200 ? KillReport.parse(answer.body) : undefined };
}

describe("agents", () => {
  test("are listed with their source, enforcement level and found credentials", async () => {
    const served = await operated();
    const { body, text } = await served.ask("GET", "/v1/agents");
    const { agents } = AgentList.parse(body);
    const stub = agents.find(({ agent }) => agent === "stub");
    expect(stub).toMatchObject({
      added: true,
      install: { source: "local" },
      verification: { state: "unverified" },
      enforcement: { level: "asked", reason: expect.stringContaining("asks") },
      credentials: { found: ["STUB_KEY"], missing: ["OTHER_KEY"] },
    });
    expect(text).not.toContain("hush-hush");
    const { secret: as } = await served.person();
    const asSeen = await served.ask("GET", "/v1/agents/stub", { as });
    expect(AgentDetail.parse(asSeen.body)).toMatchObject({
      credentials: { found: [], missing: [] },
      credentialsAvailable: stub?.credentialsAvailable,
    });
    expect(agents.find(({ agent }) => agent === "native")).toMatchObject({
      built_in: true,
      install: { source: "built_in" },
      verification: { state: "not_needed" },
      enforcement: { level: "performed" },
    });
    expect(agents.find(({ agent }) => agent === "claude")).toMatchObject({ install: null, added: false });
  });

  test("are listed with their processes and capabilities", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const { body } = await served.ask("GET", "/v1/agents/stub");
    expect(AgentDetail.parse(body)).toMatchObject({
      running: 1,
      capabilities: expect.objectContaining({ protocolVersion: 1 }),
      modes: expect.objectContaining({ currentModeId: "ask" }),
      processes: [{ pid: expect.any(Number), principal: "local", stderr: { omitted: 0 } }],
    });
    expect(Object(body).processes[0].sessions).toContain(session);
    const { agents } = AgentList.parse((await served.ask("GET", "/v1/agents")).body);
    expect(agents.find(({ agent }) => agent === "stub")).toMatchObject({
      capabilities: { protocolVersion: 1 },
      modes: { currentModeId: "ask" },
      config_options: [{ category: "model" }],
    });
    expect(agents.find(({ agent }) => agent === "amp")).toMatchObject({ capabilities: null });
    const native = await served.ask("POST", "/v1/agents/native/install", { body: {} });
    expect(Object(native.body).detail).toContain("part of Reins");
    expect(Object(body).processes[0].memory_bytes).toBeGreaterThan(0);
    expect((await served.ask("GET", "/v1/agents/none")).status).toBe(404);
    for (const path of ["models", "modes"])
      expect((await served.ask("GET", `/v1/agents/stub/${path}`)).status).toBe(410);
    const outsider = await served.person();
    expect(await processes(served, outsider.secret)).toEqual([]);
  });

  test("can be installed with progress events by admins of the default tenant", async () => {
    const served = await operated();
    const path = "/v1/agents/stub/install";
    const headers = { authorization: `Bearer ${served.access.token}` };
    const { response } = await begin(served.address, "POST", path, { headers, body: {} });
    expect(await new Events(response).next()).toMatchObject({
      event: "progress",
      data: { phase: "installed", install: { source: "local" } },
    });
    const acme = await served.person({ tenant: "acme", roles: ["admin"] });
    const person = await served.person();
    for (const { secret: as } of [acme, person])
      expect((await served.ask("POST", path, { as, body: {} })).status).toBe(403);
    expect((await served.ask("POST", "/v1/agents/native/verify")).status).toBe(409);
  });

  test("are not installed at a version that is neither a version nor a tag: rejected before npm is called", async () => {
    const served = await operated();
    for (const version of ["not a version", "file:../evil", "https://localhost/x.tgz", "^1.0.0"])
      for (const member of ["agent_version", "agent_process_version"]) {
        const path = "/v1/agents/claude/install";
        const { status, body } = await served.ask("POST", path, { body: { [member]: version } });
        expect(status, `${member}: ${version}`).toBe(400);
        expect(Object(body).detail).toContain(JSON.stringify(version));
      }
  });

  test("can be restarted: their sessions continue with a new process", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const before = (await processes(served)).find(({ sessions }) => sessions.includes(session));
    const path = `/v1/agents/stub/processes/${before?.id}/restart`;
    expect((await served.ask("POST", path)).status).toBe(204);
    await client.prompt(session, "say one");
    const after = (await processes(served)).find(({ sessions }) => sessions.includes(session));
    expect(after?.pid).not.toBe(before?.pid);
    expect((await served.ask("POST", path)).status).toBe(404);
  });
});

describe("a kill", () => {
  test("ends a session and its process for good, and is in the ledger", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const running = (await processes(served)).find(({ sessions }) => sessions.includes(session));
    const { report } = await kill(served, { session: session.slice(0, 12), reason: "enough" });
    expect(report?.gone.map(({ pid }) => pid)).toContain(running?.pid);
    expect(report).toMatchObject({ left: [], by: "user:default/operator", reason: "enough" });
    expect(() => process.kill(running?.pid ?? 0, 0)).toThrow("ESRCH");
    const entry = await served.ask("GET", `/v1/ledger/entries/${report?.entry}`);
    const { key } = Object((await served.ask("GET", `/v1/sessions/${session}`)).body);
    expect(entry.body).toMatchObject({
      entry: { quality: "kill", entity_id: key, payload: { gone: report?.gone } },
    });
    await expect
      .poll(async () => Object((await served.ask("GET", `/v1/sessions/${session}`)).body).ended)
      .toMatchObject({
        reason: "terminated",
        message: "enough",
      });
    expect((await kill(served, { session })).status).toBe(404);
  });

  test("of an agent leaves its sessions resumable", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const { report } = await kill(served, { agent: "stub" });
    expect(report?.sessions).toContain(session);
    await client.prompt(session, "say one");
    expect(Object((await served.ask("GET", `/v1/sessions/${session}`)).body).state).toBe("idle");
  });

  test("is only for admins of the tenant, and has exactly one target", async () => {
    const served = await operated();
    await (await RpcClient.open(served)).begin(home().workspace);
    const acme = await served.person({ tenant: "acme", roles: ["admin"] });
    const person = await served.person();
    expect((await kill(served, { agent: "stub" }, person.secret)).status).toBe(403);
    expect((await kill(served, { agent: "stub" }, acme.secret)).status).toBe(404);
    expect(await kill(served, { all: true }, acme.secret)).toMatchObject({
      status: 200,
      report: { gone: [] },
    });
    expect((await kill(served, {})).status).toBe(400);
    expect((await kill(served, { all: true, agent: "stub" })).status).toBe(400);
    const { report } = await kill(served, { all: true });
    expect(report?.gone.length).toBeGreaterThan(0);
    await expect.poll(async () => (await processes(served)).filter(({ pid }) => pid !== null)).toEqual([]);
  });
});

describe("the wire log", () => {
  test("shows messages on both edges of Reins without secrets", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    await client.prompt(session, `say ${key}`);
    const { body, text } = await served.ask("GET", `/v1/wire?session=${session}&limit=500`);
    const { envelopes, next } = WirePage.parse(body);
    const seen = envelopes.map(
      ({ edge, direction, kind, method }) => `${edge} ${direction} ${kind} ${method}`,
    );
    expect(seen).toEqual(
      expect.arrayContaining([
        "client in request session/prompt",
        "agent out request session/prompt",
        "agent in notification session/update",
        "client out answer session/prompt",
      ]),
    );
    expect(text).not.toContain(key);
    expect(envelopes.map(({ seq }) => seq)).toEqual(
      envelopes.map(({ seq }) => seq).toSorted((a, b) => a - b),
    );
    const later = await served.ask("GET", `/v1/wire?session=${session}&after=${next}`);
    expect(WirePage.parse(later.body).envelopes).toEqual([]);
    const asked = await served.ask("GET", `/v1/wire?session=${session}&edge=agent&method=session/prompt`);
    expect(WirePage.parse(asked.body).envelopes.map(({ kind }) => kind)).toEqual(["request", "answer"]);
  });

  test("is streamed live", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    const session = await client.begin(home().workspace);
    const events = await Events.open(served, {}, undefined, `/v1/wire/stream?session=${session}&edge=client`);
    await events.next();
    await client.prompt(session, "say one");
    const first = await events.next();
    expect(first).toMatchObject({ event: "envelope", data: { method: "session/prompt", direction: "in" } });
  });

  test("is only for admins, who see their own tenant", async () => {
    const served = await operated();
    await (await RpcClient.open(served)).begin(home().workspace);
    const acme = await served.person({ tenant: "acme", roles: ["admin"] });
    const person = await served.person();
    expect((await served.ask("GET", "/v1/wire", { as: person.secret })).status).toBe(403);
    const { body } = await served.ask("GET", "/v1/wire", { as: acme.secret });
    expect(WirePage.parse(body).envelopes).toEqual([]);
    expect((await served.ask("GET", "/v1/wire/requests", { as: acme.secret })).status).toBe(403);
  });

  test("lists the answered requests, without their query strings", async () => {
    const served = await operated();
    await served.ask("GET", "/v1/sessions/none?token=hush");
    const { body, text } = await served.ask("GET", "/v1/wire/requests");
    const { requests } = RequestPage.parse(body);
    expect(requests.at(-1)).toMatchObject({
      method: "GET",
      route: "/v1/sessions/{id}",
      path: "/v1/sessions/none",
      status: 400,
      principal: "local",
    });
    expect(text).not.toContain("hush");
    const events = await Events.open(served, {}, undefined, "/v1/wire/requests/stream");
    await events.next();
    await served.ask("GET", "/v1/health");
    expect(await events.next()).toMatchObject({
      event: "request",
      data: { path: "/v1/health", status: 200 },
    });
  });
});

describe("the metrics", () => {
  test("count decisions and approvals, as JSON and for Prometheus", async () => {
    const served = await operated();
    const client = await RpcClient.open(served);
    await client.prompt(await client.begin(home().workspace), "say one");
    await served.question("figures", "default", "deploy");
    const reporter = { tenant: "default", user: "ann", agent: "reed", session: "s" };
    for (const kind of ["heartbeat", "error", "error"] as const)
      await served.harness.reports.note(reporter, kind, { kind });
    const { body, status } = await served.ask("GET", "/v1/overview");
    expect(status).toBe(200);
    const overview = Overview.parse(body);
    expect(overview).toMatchObject({
      version: "1.2.3",
      decisions: { by_verdict: { allowed: expect.any(Number), ask: 1 } },
      usage: { turns: 1 },
      approvals: { pending: 1 },
    });
    const [reported] = overview.agent_reports.filter(({ agent }) => agent === "reed");
    expect(reported).toEqual({
      ...reporter,
      heartbeat: { at: expect.any(String), count: 1, payload: '{"kind":"heartbeat"}' },
      error: { at: expect.any(String), count: 2, payload: '{"kind":"error"}' },
    });
    expect(overview.decisions.latency_ms.count).toBe(overview.decisions.total);
    expect(overview.sessions.live).toBeGreaterThan(0);
    expect(overview.ledger.entries).toBeGreaterThan(0);
    expect(overview.log.events).toBeGreaterThan(0);
    const { text, headers } = await served.ask("GET", "/metrics");
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(text).toContain('reins_decisions_total{verdict="ask",enforcement="asked"} 1\n');
    expect(text).toMatch(/^reins_verdict_seconds_count [1-9]/m);
    for (const line of text.trimEnd().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? -?[\d.e+-]+)$/);
    const acme = await served.person({ tenant: "acme", roles: ["admin"] });
    for (const path of ["/metrics", "/v1/overview"])
      expect((await served.ask("GET", path, { as: acme.secret })).status).toBe(403);
  });
});
