import { Connection, ConnectionPage, Session, SessionPage } from "@reins/api";
import { ManualClock } from "@reins/kit/manual-clock";
import { blake3Hex } from "@reins/ledger";
import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { Events } from "./fixtures/events.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();

describe("sessions", () => {
  test("are listed without what their clients sent to start them", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace, "stub", { title: "A title" });
    await client.prompt(id, "say one");
    const { body, status } = await client.served.ask("GET", `/v1/sessions/${id}`);
    expect(status).toBe(200);
    const session = Session.parse(body);
    expect(session).toEqual(body);
    expect(session).toMatchObject({
      id,
      key: expect.stringMatching(/^stub:acp:/),
      agent: "stub",
      principal: "local",
      cwd: home().workspace,
      mode: "persistent",
      state: "idle",
      title: "A title",
      event_count: 2,
      agent_runs: true,
      trust: "unknown",
      enforcement: "asked",
      pending_approvals: 0,
      settings: { modes: { currentModeId: "ask" } },
    });
    expect(id).toBe(blake3Hex(`stub:${session.key}:${session.created_at}`));
    expect(Object.keys(session)).not.toContain("sealed_servers");
    expect((await client.served.ask("GET", "/v1/sessions/none")).status).toBe(404);
  });

  test("end or continue as their creator chose", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const _meta = { "sandboxagent.dev": { agent: "stub" }, reins: { mode: "domain" } };
    const params = { cwd: home().workspace, mcpServers: [], _meta };
    const { sessionId } = await client.result("session/new", params);
    await client.prompt(String(sessionId), "say one");
    const { body } = await client.served.ask("GET", `/v1/sessions/${sessionId}`);
    expect(body).toMatchObject({ mode: "domain", state: "idle" });
  });

  test("are listed in pages, the most recently used first, to those who may see them", async () => {
    const served = await serveAgents(home());
    const { secret: as } = await served.person();
    const client = await RpcClient.open(served, { as });
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await client.begin(home().workspace));
    await client.prompt(ids[1] ?? "", "say one");
    const found: string[] = [];
    for (let after = ""; ; ) {
      const { body } = await served.ask("GET", `/v1/sessions?limit=2${after && `&after=${after}`}`, { as });
      const page = SessionPage.parse(body);
      found.push(...page.sessions.map(({ id }) => id));
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(found).toHaveLength(5);
    expect(found[0]).toBe(ids[1]);
    expect(new Set(found)).toEqual(new Set(ids));
    await client.result("session/delete", { sessionId: ids[0] });
    const closed = await served.ask("GET", "/v1/sessions?state=closed", { as });
    expect(closed.body).toMatchObject({ sessions: [{ id: ids[0], ended: { reason: "completed" } }] });
    const elsewhere = await served.ask("GET", "/v1/sessions?cwd=/elsewhere", { as });
    expect(elsewhere.body).toEqual({ sessions: [] });
    const neighbour = await served.person();
    expect((await served.ask("GET", "/v1/sessions", { as: neighbour.secret })).body).toEqual({
      sessions: [],
    });
    expect((await served.ask("GET", `/v1/sessions/${ids[0]}`, { as: neighbour.secret })).status).toBe(404);
    expect((await served.ask("GET", `/v1/sessions/${ids[0]}`)).status).toBe(200);
  });

  test("of others are hidden from a former admin", async () => {
    const served = await serveAgents(home());
    const { secret: as } = await served.person({ roles: ["admin"] });
    const events = await Events.open(served, {}, as, "/v1/sessions/stream");
    const { identity } = served.harness;
    const { user } = Object((await identity.authenticate(as)) ?? {});
    await identity.setUser({ id: user, roles: [] });
    await (await RpcClient.open(served)).begin(home().workspace);
    const own = await (await RpcClient.open(served, { as })).begin(home().workspace);
    expect(await events.next()).toMatchObject({ id: own });
  });

  test("are streamed as they start, run, idle and end, to those who may see them", async () => {
    const served = await serveAgents(home());
    const { secret: as } = await served.person();
    const neighbour = await served.person();
    const [mine, theirs] = await Promise.all(
      [as, neighbour.secret].map((who) => Events.open(served, {}, who, "/v1/sessions/stream")),
    );
    const client = await RpcClient.open(served, { as });
    const id = await client.begin(home().workspace, "stub");
    const until = async (holds: (session: Session) => boolean) => {
      for (;;) {
        const event = await mine?.next();
        expect(event).toMatchObject({ event: "session", id });
        if (holds(Session.parse(event?.data))) return;
      }
    };
    await until(({ agent_runs }) => agent_runs);
    await client.prompt(id, "say one");
    await until(({ state, event_count }) => state === "idle" && event_count > 0);
    await client.result("_sandboxagent/session/set_metadata", {
      sessionId: id,
      metadata: { title: "Frogs" },
    });
    await until(({ title }) => title === "Frogs");
    await client.result("session/delete", { sessionId: id });
    await until(({ ended }) => ended?.reason === "completed");
    const own = await (await RpcClient.open(served, { as: neighbour.secret })).begin(home().workspace);
    expect(await theirs?.next()).toMatchObject({ id: own });
  });
});

describe("connections", () => {
  test("are listed to their principal, and can be closed", async () => {
    const served = await serveAgents(home());
    const { secret: as } = await served.person();
    const client = await RpcClient.open(served, { as });
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const { body } = await served.ask("GET", "/v1/connections", { as });
    const { connections } = ConnectionPage.parse(body);
    expect(connections).toHaveLength(1);
    expect(Connection.parse(connections[0])).toMatchObject({
      id: client.connection,
      dialect: "rpc",
      agent: "stub",
      sessions: [id],
      streams: 1,
    });
    const neighbour = await served.person();
    const path = `/v1/connections/${client.connection}`;
    expect((await served.ask("DELETE", path, { as: neighbour.secret })).status).toBe(404);
    expect((await served.ask("DELETE", path)).status).toBe(204);
    await stream.ended;
    expect((await client.request("session/list")).status).toBe(404);
    expect((await served.ask("DELETE", path, { as })).status).toBe(404);
  });

  test("expire when they are unused, and not before", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), {
      clock,
      agents: { limits: { expiryMs: 600_000, restMs: 60_000 } },
    });
    const [idle, busy] = [await RpcClient.open(served), await RpcClient.open(served)];
    await busy.stream();
    const pass = async (minutes: number) => {
      for (let quarter = 0; quarter < minutes * 4; quarter += 1) {
        clock.advance(15_000);
        await served.ask("GET", "/v1/health");
      }
    };
    await pass(8);
    expect((await idle.request("session/list")).status).toBe(200);
    await pass(12);
    expect((await idle.request("session/list")).status).toBe(404);
    expect((await busy.request("session/list")).status).toBe(200);
  });

  test("of one principal are limited", async () => {
    const served = await serveAgents(home(), { agents: { limits: { perPrincipal: 2 } } });
    const { secret: as } = await served.person();
    const clients = [await RpcClient.open(served, { as }), await RpcClient.open(served, { as })];
    await expect(RpcClient.open(served, { as })).rejects.toThrow("2 connections are open already");
    await clients[0]?.delete();
    await RpcClient.open(served, { as });
  });
});
