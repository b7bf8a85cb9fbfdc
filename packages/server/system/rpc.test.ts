import { Problem } from "@reins/api";
import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, onTestFinished, test } from "vitest";
import { openAgentHome } from "./fixtures/agent-home.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Answer } from "./fixtures/ask.ts";
import { promptOf, RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();

/** An answer that has to be a problem, and what is wrong. */
function problemOf({ status, headers, body }: Answer): [number, string] {
  expect(headers["content-type"]).toBe("application/problem+json");
  const problem = Problem.parse(body);
  expect(problem.status).toBe(status);
  return [status, problem.detail];
}

const hello = (agent: unknown = "stub") => ({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: 1, _meta: { "sandboxagent.dev": { agent } } },
});

describe("the first message", () => {
  test("must be initialize, and creates a connection with a random id", async () => {
    const served = await serveAgents(home());
    const client = new RpcClient(served);
    const answers = await Promise.all([client.post(hello()), client.post(hello())]);
    const ids = answers.map(({ headers }) => String(headers["x-acp-connection-id"]));
    expect(answers[0]).toMatchObject({
      status: 200,
      body: { jsonrpc: "2.0", id: 1, result: { protocolVersion: 1 } },
    });
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(Buffer.from(id, "base64url").length).toBeGreaterThanOrEqual(16);
  });

  test("must name its agent in the message", async () => {
    const served = await serveAgents(home());
    const client = new RpcClient(served);
    const without = { ...hello(), params: { protocolVersion: 1 } };
    expect(problemOf(await client.post(without, { "x-acp-agent": "stub" }))).toEqual([
      400,
      'initialize names its agent in params._meta["sandboxagent.dev"].agent',
    ]);
    expect(problemOf(await client.post(hello(7)))[0]).toBe(400);
    expect(problemOf(await client.post(hello("unknown")))).toEqual([
      400,
      expect.stringContaining('no agent "unknown"'),
    ]);
    const begin = { jsonrpc: "2.0", id: 2, method: "session/new", params: { cwd: "/", mcpServers: [] } };
    const wrong = { ...begin, params: { ...begin.params, _meta: { "sandboxagent.dev": { agent: 7 } } } };
    expect(problemOf(await client.post(wrong))).toEqual([
      400,
      expect.stringContaining("session/new names its agent"),
    ]);
    // A session that names none is with the agent of its connection.
    const opened = await RpcClient.open(served);
    const params = { cwd: home().workspace, mcpServers: [] };
    const { sessionId } = await opened.result("session/new", params);
    expect(await opened.result("_sandboxagent/session/get", { sessionId })).toMatchObject({ agent: "stub" });
    const named = { ...begin, params: { ...begin.params, _meta: { "sandboxagent.dev": { agent: "stub" } } } };
    expect(problemOf(await client.post(named))).toEqual([
      400,
      expect.stringContaining("the first message is"),
    ]);
  });

  test("fails with the error output of an agent that does not start", async () => {
    const served = await serveAgents(home());
    const client = new RpcClient(served);
    expect(problemOf(await client.post(hello("missing")))[0]).toBe(502);
    expect(problemOf(await client.post(hello("dying")))).toEqual([
      502,
      expect.stringContaining("ended with code 7: no licence"),
    ]);
    const { body } = await served.ask("GET", "/v1/connections");
    expect(Object(body).connections.filter(({ agent }: { agent?: string }) => agent !== "stub")).toEqual([]);
  });

  test("of many concurrent clients starts one agent", async () => {
    const served = await serveAgents(home());
    const person = await served.person();
    const clients = await Promise.all(
      Array.from({ length: 12 }, () => RpcClient.open(served, { as: person.secret })),
    );
    expect(new Set(clients.map(({ connection }) => connection)).size).toBe(12);
    const running = await home().hosting.hub.running();
    const sessions = await Promise.all(clients.map((client) => client.begin(home().workspace)));
    expect(new Set(sessions).size).toBe(12);
    expect((await home().hosting.hub.running()).length).toBe(running.length);
  });
});

describe("a message", () => {
  test("is answered with security headers, and with CORS headers for allowed origins", async () => {
    const origin = "https://console.example";
    const served = await serveAgents(home(), { listen: { allowedOrigins: [origin] } });
    const client = await RpcClient.open(served);
    const cancel = { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 7 } };
    const ping = { jsonrpc: "2.0", id: 1, method: "session/list", params: {} };
    const own = [await client.post(ping), await client.post(cancel), await client.post({ jsonrpc: "1.0" })];
    const shared = [await client.post(ping, { origin }), await client.post(cancel, { origin })];
    expect([...own, ...shared].map(({ status }) => status)).toEqual([200, 202, 400, 200, 202]);
    for (const { headers } of [...own, ...shared])
      expect(headers).toMatchObject({
        "content-security-policy": expect.stringMatching(/^default-src 'self';/),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        vary: "origin",
      });
    for (const { headers } of own) expect(headers["cross-origin-resource-policy"]).toBe("same-origin");
    for (const { headers } of shared)
      expect(headers).toMatchObject({
        "access-control-allow-origin": origin,
        "cross-origin-resource-policy": "cross-origin",
      });
    expect(own[0]?.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(own[1]).toMatchObject({ headers: { "content-length": "0" }, text: "" });
  });

  test.each([
    ["no object", []],
    ["no version", { id: 1, method: "x" }],
    ["another version", { jsonrpc: "1.0", id: 1, method: "x" }],
    ["neither a method nor an id", { jsonrpc: "2.0" }],
    ["a request and an answer at once", { jsonrpc: "2.0", id: 1, method: "x", result: {} }],
    ["an answer without a result", { jsonrpc: "2.0", id: 1 }],
    ["an id that cannot be said back", { jsonrpc: "2.0", id: { a: 1 }, method: "x" }],
    ["an id that would change on the way", '{"jsonrpc":"2.0","id":12345678901234567890,"method":"x"}'],
    ["no method at all", { jsonrpc: "2.0", id: 1, method: "" }],
  ])("that is %s is rejected", async (_, message) => {
    const client = await RpcClient.open(await serveAgents(home()));
    expect(problemOf(await client.post(message))[0]).toBe(400);
  });

  test("must be JSON, and its client must accept JSON", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "session/list", params: {} });
    expect(problemOf(await client.post(message, { "content-type": "text/plain" }))[0]).toBe(415);
    expect(problemOf(await client.post(message, { accept: "text/event-stream" }))[0]).toBe(406);
    expect((await client.post(message, { accept: "application/json, text/event-stream" })).status).toBe(200);
  });

  test("for an unknown or another principal's connection is rejected", async () => {
    const served = await serveAgents(home());
    const client = await RpcClient.open(served);
    const message = { jsonrpc: "2.0", id: 1, method: "session/list", params: {} };
    const elsewhere = await client.post(message, { "x-acp-connection-id": "acp_conn_1" });
    expect(problemOf(elsewhere)).toEqual([404, expect.stringContaining("initialize again")]);
    const [neighbour, stranger] = [
      await served.person(),
      await served.person({ tenant: "acme", roles: ["admin"] }),
    ];
    const as = ({ secret }: { secret: string }) => ({ authorization: `Bearer ${secret}` });
    expect(problemOf(await client.post(message, as(neighbour)))[0]).toBe(403);
    expect(problemOf(await client.post(message, as(stranger)))[0]).toBe(404);
    const unknown = await client.post(message, { authorization: "Bearer reins_unknown" });
    expect(problemOf(unknown)[0]).toBe(401);
  });

  test("gets a response with its id, of any type, and many can run concurrently", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const ids = ["text", 0, -7, Number.MAX_SAFE_INTEGER, "", null, "1", 1];
    const answers = await Promise.all(
      ids.map((id) => client.post({ jsonrpc: "2.0", id, method: "session/list", params: {} })),
    );
    expect(answers.map(({ body }) => Object(body).id)).toEqual(ids);
  });

  test("whose method the agent or the hub rejects gets that error", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const unknown = await client.request("session/rename", { sessionId: id });
    expect(unknown).toMatchObject({ status: 200, body: { error: { code: -32601 } } });
    const gone = await client.prompt("0".repeat(64), "say hello");
    expect(gone).toMatchObject({ status: 200, body: { error: { code: -32002 } } });
    const bad = await client.request("session/new", {
      cwd: "relative",
      mcpServers: [],
      _meta: { "sandboxagent.dev": { agent: "stub" } },
    });
    expect(bad).toMatchObject({ status: 200, body: { error: { code: -32602 } } });
  });
});

describe("a notification", () => {
  test("is accepted even if it fails", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    expect(await client.notify("session/cancel", { sessionId: "none" })).toMatchObject({
      status: 202,
      text: "",
    });
    expect((await client.notify("_something/else")).status).toBe(202);
  });

  test("cancels a turn without waiting for it", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const turn = client.prompt(id, "say begun", "wait");
    await expect.poll(() => stream.said).toEqual(["begun"]);
    expect((await client.notify("session/cancel", { sessionId: id })).status).toBe(202);
    expect(await turn).toMatchObject({ status: 200, body: { result: { stopReason: "cancelled" } } });
  });

  test("cancels a request", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const params = { sessionId: id, prompt: promptOf(["say begun", "wait"]) };
    const turn = client.post({ jsonrpc: "2.0", id: "mine", method: "session/prompt", params });
    await expect.poll(() => stream.said).toEqual(["begun"]);
    await client.notify("$/cancel_request", { requestId: "mine" });
    expect(await turn).toMatchObject({
      status: 200,
      body: { id: "mine", result: { stopReason: "cancelled" } },
    });
  });
});

describe("a cancel that the agent ignores", () => {
  test.each(["session/cancel", "$/cancel_request", "session/close"])(
    "ends the turn after a timeout, and queued turns continue (%s)",
    async (method) => {
      const own = await openAgentHome({ hosting: { cancelGraceMs: 200 } });
      onTestFinished(() => own.close());
      const client = await RpcClient.open(await serveAgents(own));
      const id = await client.begin(own.workspace);
      const stream = await client.stream();
      const prompt = promptOf(["say begun", "ignore"]);
      const params = { sessionId: id, prompt };
      const turn = client.post({ jsonrpc: "2.0", id: "stuck", method: "session/prompt", params });
      await expect.poll(() => stream.said).toContain("begun");
      const [before] = await own.hosting.hub.running();
      if (method === "session/close") await client.result(method, { sessionId: id });
      else await client.notify(method, { sessionId: id, requestId: "stuck" });
      const next = method === "session/close" ? undefined : client.prompt(id, "say next");
      expect(await turn).toMatchObject({ body: { result: { stopReason: "cancelled" } } });
      const after = (await next) ?? (await client.prompt(id, "say next"));
      expect(after).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
      // The process that went on is gone, with whatever it was about to do.
      expect(before?.governor.signal.aborted).toBe(true);
    },
  );

  test("gives turns of other sessions of the same process time to end", async () => {
    const own = await openAgentHome({ hosting: { cancelGraceMs: 200 } });
    onTestFinished(() => own.close());
    const client = await RpcClient.open(await serveAgents(own));
    const [stuck, fine] = [await client.begin(own.workspace), await client.begin(own.workspace)];
    const stream = await client.stream();
    const turn = client.prompt(stuck, "say begun", "ignore");
    const other = client.prompt(fine, "sleep 1500", "say done");
    await expect.poll(() => stream.said).toContain("begun");
    await client.notify("session/cancel", { sessionId: stuck });
    expect(await turn).toMatchObject({ body: { result: { stopReason: "cancelled" } } });
    expect(await other).toMatchObject({ body: { result: { stopReason: "end_turn" } } });
    expect(await client.prompt(stuck, "say next")).toMatchObject({
      body: { result: { stopReason: "end_turn" } },
    });
  });
});

describe("an unknown method", () => {
  const UNKNOWN = [
    ...["_custom/x", "_custom", "session/promt", "session/archive", "session/", "prompt", "logout"],
    ...["providers/list", "nes/start", "_sandboxagent/fs/nothing", "_sandboxagent/x", "_reins/x"],
  ];

  test.each(["stub", "native"])("is answered at once, without an approval (%s)", async (agent) => {
    const served = await serveAgents(home());
    const client = await RpcClient.open(served, { agent });
    const id = await client.begin(home().workspace, agent);
    for (const method of UNKNOWN)
      for (const params of [{}, { sessionId: id }, { sessionId: id, command: "curl x | sh" }]) {
        const { status, body } = await client.request(method, params);
        expect([method, status, Object(body).error?.code]).toEqual([method, 200, -32601]);
        expect((await client.notify(method, params)).status).toBe(202);
      }
    const own = agent === "native" ? ["authenticate", "session/set_model/x", "_stub/echo"] : [];
    for (const method of own)
      expect(await client.request(method, { sessionId: id })).toMatchObject({
        body: { error: { code: -32601 } },
      });
    const { body } = await served.ask("GET", `/v1/approvals?session=${id}`);
    expect(Object(body).approvals).toEqual([]);
  });

  test("gets another error than a method with an unknown session, mode or model", async () => {
    const client = await RpcClient.open(await serveAgents(home()), { agent: "native" });
    const sessionId = await client.begin(home().workspace, "native");
    for (const [method, params] of [
      ["session/prompt", { prompt: [] }],
      ["session/set_mode", { modeId: "plan" }],
      ["session/close", {}],
      ["session/set_mode", { sessionId, modeId: "nope" }],
      ["session/set_model", { sessionId, modelId: "nope" }],
      ["session/set_config_option", { sessionId, configId: "model", value: "nope" }],
    ] as const)
      expect(await client.request(method, params)).toMatchObject({ body: { error: { code: -32602 } } });
    expect(
      (await client.result("session/set_model", { sessionId, modelId: "demo" })).configOptions,
    ).toBeDefined();
  });

  test("gets another error than an extension that the agent announces, which needs an approval", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock, agents: { limits: { requestMs: 1_000 } } });
    const client = await RpcClient.open(served);
    const sessionId = await client.begin(home().workspace);
    for (const params of [{ sessionId, a: 1 }, { a: 1 }]) {
      const asked = client.request("_stub/echo", params);
      const pending = async () =>
        Object((await served.ask("GET", "/v1/approvals?state=pending")).body).approvals;
      await expect.poll(async () => (await pending()).length).toBe(1);
      for (let n = 0; n < 20; n += 1) clock.advance(1_000);
      const path = `/v1/approvals/${(await pending())[0].id}/answer`;
      expect((await served.ask("POST", path, { body: { decision: "allow_once" } })).status).toBe(200);
      expect(await asked).toMatchObject({ status: 200, body: { result: { a: 1 } } });
    }
  });
});

describe("the methods of a session", () => {
  test("are those of ACP, also where the agent uses another name", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const id = await client.begin(home().workspace);
    const { sessions } = await client.result("session/list", { cwd: home().workspace });
    expect(Object(sessions).map(({ sessionId }: { sessionId: string }) => sessionId)).toContain(id);
    expect(await client.result("session/list", { cwd: "/elsewhere" })).toEqual({
      sessions: [],
      nextCursor: null,
    });
    const { configOptions } = await client.result("session/set_model", { sessionId: id, modelId: "large" });
    expect(configOptions).toMatchObject([{ id: "llm", currentValue: "large" }]);
    const resumed = await client.result("session/resume", { sessionId: id, cwd: home().workspace });
    expect(resumed).toMatchObject({
      modes: { currentModeId: "ask" },
      configOptions: [{ currentValue: "large" }],
    });
    const { sessionId: forked } = await client.result("session/fork", {
      sessionId: id,
      cwd: home().workspace,
    });
    expect(forked).toMatch(/^[0-9a-f]{64}$/);
    expect(await client.result("session/set_mode", { sessionId: id, modeId: "ask" })).toEqual({});
    expect(await client.result("authenticate", { methodId: "none" })).toEqual({});
    expect(await client.result("session/delete", { sessionId: id })).toEqual({});
    expect(await client.prompt(id, "say hello")).toMatchObject({ body: { error: { code: -32002 } } });
  });

  test.each(["idle", "in the middle of a turn", "with queued prompts", "with an open question"])(
    "close a session so that it can be resumed, and delete it for good (%s)",
    async (how) => {
      const served = await serveAgents(home());
      const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
      const id = await client.begin(home().workspace);
      const stream = await client.stream();
      await client.prompt(id, "say before");
      const step = how === "with a question open" ? "run npm test" : "wait";
      const turns = how === "idle" ? [] : [client.prompt(id, "say begun", step)];
      if (turns.length > 0) await expect.poll(() => stream.said).toContain("begun");
      if (how === "with a question open") await expect.poll(() => stream.asked.length).toBe(1);
      if (how === "with prompts in line")
        turns.push(client.prompt(id, "say two"), client.prompt(id, "say three"));
      expect(await other.result("session/close", { sessionId: id })).toEqual({});
      // The stub goes on with what it has left when a question is withdrawn, and says so.
      const stopReason = how === "with a question open" ? "end_turn" : "cancelled";
      for (const turn of turns)
        expect(await turn).toMatchObject({ status: 200, body: { result: { stopReason } } });

      const listed = async () => {
        const { sessions } = await other.result("session/list");
        return Object(sessions).some(({ sessionId }: { sessionId: string }) => sessionId === id);
      };
      expect(await listed()).toBe(true);
      const place = { sessionId: id, cwd: home().workspace, mcpServers: [] };
      const editor = await RpcClient.open(served);
      const told = await editor.stream();
      await editor.result("session/load", place);
      expect(told.said).toContain("before");
      await editor.result("session/close", { sessionId: id });
      await editor.result("session/resume", place);
      await editor.result("session/close", { sessionId: id });
      expect((await editor.result("session/fork", place)).sessionId).not.toBe(id);
      expect(await editor.prompt(id, "say after")).toMatchObject({
        body: { result: { stopReason: "end_turn" } },
      });
      await expect.poll(() => told.said.at(-1)).toBe("after");
      expect(stream.said.includes("two")).toBe(false);

      await editor.result("session/close", { sessionId: id });
      expect(await editor.result("session/delete", { sessionId: id })).toEqual({});
      expect(await listed()).toBe(false);
      for (const method of [
        "session/load",
        "session/resume",
        "session/fork",
        "session/close",
        "session/delete",
      ])
        expect(await editor.request(method, place)).toMatchObject({ body: { error: { code: -32002 } } });
    },
  );

  test("work in a fork, which has its origin and history", async () => {
    const served = await serveAgents(home());
    const client = await RpcClient.open(served);
    const id = await client.begin(home().workspace);
    await client.prompt(id, "say before");
    const { sessionId } = await client.result("session/fork", { sessionId: id, cwd: home().workspace });
    await client.prompt(id, "say after");
    const { metadata } = Object((await served.ask("GET", `/v1/sessions/${sessionId}`)).body);
    expect(metadata).toMatchObject({ forked_from: id, forked_after: expect.any(Number) });
    const texts = async (range: object) => {
      const { updates, next } = await client.result("_reins/session/history", { sessionId: id, ...range });
      return [next, ...Object(updates).map((update: unknown) => Object(Object(update).content).text)];
    };
    const until = metadata.forked_after;
    expect(await texts({ until })).toEqual([null, "say before", "before"]);
    const [next, ...after] = await texts({ after: until });
    expect(after).toEqual(["say after", "after"]);
    expect(await texts({ after: next })).toEqual([null]);
    const other = await RpcClient.open(served, { as: (await served.person()).secret });
    const asked = { sessionId: id, after: "x" };
    expect(await other.request("_reins/session/history", asked)).toMatchObject({
      body: { error: { code: -32002 } },
    });
    expect(await client.request("_reins/session/history", asked)).toMatchObject({
      body: { error: { code: -32602 } },
    });
  });

  test("are listed in pages", async () => {
    const served = await serveAgents(home());
    const { secret: as } = await served.person();
    const client = await RpcClient.open(served, { as });
    const begun = new Set<string>();
    for (let n = 0; n < 205; n += 1) begun.add(await client.begin(home().workspace));
    const first = await client.result("session/list");
    const second = await client.result("session/list", { cursor: first.nextCursor });
    const ids = [first, second].flatMap(({ sessions }) => Object(sessions)).map(({ sessionId }) => sessionId);
    expect([Object(first.sessions).length, second.nextCursor]).toEqual([200, null]);
    expect(new Set(ids)).toEqual(begun);
  });
});

describe("an agent that takes too long", () => {
  test("gets a timeout; its response comes on the stream", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock, agents: { limits: { requestMs: 1_000 } } });
    const client = await RpcClient.open(served);
    const id = await client.begin(home().workspace);
    const waiting = client.request("session/set_mode", { sessionId: id, modeId: "hang" });
    await expect
      .poll(async () => {
        clock.advance(1_000);
        return Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 20))]);
      })
      .toMatchObject({ status: 504 });
    expect(problemOf(await waiting)[1]).toContain("has not answered session/set_mode");
  });

  test("in a turn gets no timeout while updates arrive or a question is open", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock, agents: { limits: { silenceMs: 1_000 } } });
    const client = await RpcClient.open(served);
    const id = await client.begin(home().workspace);
    const stream = await client.stream();
    const turn = client.prompt(id, "run npm test", "sleep 300", "say done");
    await expect.poll(() => stream.asked.length).toBe(1);
    for (let n = 0; n < 5; n += 1) clock.advance(1_000);
    await client.answer(stream.asked[0] ?? {}, "allow_once");
    await expect.poll(() => stream.said).toContain("yes");
    clock.advance(1_000);
    clock.advance(1_000);
    expect(problemOf(await turn)[0]).toBe(504);
    await expect.poll(() => stream.messages.at(-1)).toMatchObject({ result: { stopReason: "end_turn" } });
    expect(stream.said.at(-1)).toBe("done");
  });
});

describe("an agent that dies", () => {
  test("during a turn fails it at once with its exit status; the next prompt restarts it", async () => {
    const served = await serveAgents(home());
    const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await client.begin(home().workspace);
    const [stream, watched] = [await client.stream(), await other.stream()];
    await other.result("session/resume", { sessionId: id });
    await client.prompt(id, "say one");
    const died = await client.prompt(id, "crash");
    expect(died).toMatchObject({
      status: 200,
      body: { error: { code: -32603, data: { exit_code: 3, stderr: { head: "something broke\n" } } } },
    });
    await expect.poll(() => watched.said.at(-1)).toContain("The turn was cut off");
    expect((await client.prompt(id, "say two")).status).toBe(200);
    await expect.poll(() => stream.said).toEqual(["one", "two"]);
  });
});

describe("ending a connection", () => {
  test("is idempotent; afterwards the connection is unknown", async () => {
    const client = await RpcClient.open(await serveAgents(home()));
    const stream = await client.stream();
    expect(await client.delete()).toMatchObject({ status: 204, text: "" });
    await stream.ended;
    expect((await client.delete()).status).toBe(204);
    expect(problemOf(await client.request("session/list"))[0]).toBe(404);
    expect((await client.stream()).status).toBe(404);
    expect(problemOf(await client.served.ask("DELETE", "/v1/rpc"))[0]).toBe(400);
  });

  test("ends no session, turn or agent", async () => {
    const served = await serveAgents(home());
    const [client, other] = [await RpcClient.open(served), await RpcClient.open(served)];
    const id = await client.begin(home().workspace);
    const stream = await other.stream();
    await other.result("session/resume", { sessionId: id });
    const pids = async () => (await home().hosting.hub.running()).map(({ process }) => process?.pid);
    const before = await pids();
    const turn = client.prompt(id, "say begun", "sleep 100", "say still here");
    await expect.poll(() => stream.said).toEqual(["begun"]);
    expect((await client.delete()).status).toBe(204);
    await expect.poll(() => stream.said).toEqual(["begun", "still here"]);
    expect((await turn).status).toBe(200);
    expect((await other.prompt(id, "say more")).status).toBe(200);
    expect(await pids()).toEqual(before);
  });

  test("is only possible for its principal", async () => {
    const served = await serveAgents(home());
    const client = await RpcClient.open(served);
    const { secret: as } = await served.person();
    const foreign = await served.ask("DELETE", "/v1/rpc", { as, headers: client.named });
    expect(problemOf(foreign)[0]).toBe(403);
    expect((await client.request("session/list")).status).toBe(200);
  });
});
