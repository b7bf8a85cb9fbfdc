import { methods } from "@agentclientprotocol/sdk";
import { Problem } from "@reins/api";
import { describe, expect, onTestFinished, test } from "vitest";
import { AcpClient } from "./fixtures/acp-client.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import type { Served } from "./fixtures/home.ts";
import { Messages, promptOf, RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();

describe.each(["http", "websocket"] as const)("the SDK's own client over %s", (way) => {
  test("prompts, and gets all updates before the response", async () => {
    const client = await AcpClient.open(await serveAgents(home()), way);
    const id = await client.begin(home().workspace);
    expect(await client.prompt(id, "say one", "burst 500", "say two")).toEqual({ stopReason: "end_turn" });
    expect(client.said).toHaveLength(502);
    expect([client.said[0], client.said.at(-1)]).toEqual(["one", "two"]);
  });

  test("answers a permission request", async () => {
    const client = await AcpClient.open(await serveAgents(home()), way);
    const id = await client.begin(home().workspace);
    await client.prompt(id, "run npm test");
    client.choose = async () => "reject_once";
    await client.prompt(id, "run npm test");
    expect(client.said).toEqual(["yes", "no"]);
    expect(client.asked).toMatchObject([
      { sessionId: id, toolCall: { rawInput: { command: "npm test" } } },
      { sessionId: id },
    ]);
  });

  test("stays connected when another client answers the question first", async () => {
    const served = await serveAgents(home());
    const [one, other] = [await AcpClient.open(served, way), await AcpClient.open(served, way)];
    const id = await one.begin(home().workspace);
    await other.agent.request(methods.agent.session.resume, { sessionId: id, cwd: home().workspace });
    const { promise, resolve } = Promise.withResolvers<string>();
    one.choose = () => promise;
    await one.prompt(id, "run npm test");
    resolve("allow_once");
    expect(one.said).toEqual(["yes"]);
    expect(other.asked).toHaveLength(1);
    await one.prompt(id, "say after");
    await expect.poll(() => other.said).toEqual(["yes", "after"]);
    expect(await other.prompt(id, "say mine")).toEqual({ stopReason: "end_turn" });
  });

  test("cancels a turn", async () => {
    const client = await AcpClient.open(await serveAgents(home()), way);
    const id = await client.begin(home().workspace);
    const turn = client.prompt(id, "say begun", "wait");
    await expect.poll(() => client.said).toEqual(["begun"]);
    await client.agent.notify(methods.agent.session.cancel, { sessionId: id });
    expect(await turn).toEqual({ stopReason: "cancelled" });
  });

  test("loads a session, and gets its history before the response", async () => {
    const served = await serveAgents(home());
    const first = await AcpClient.open(served, way);
    const id = await first.begin(home().workspace);
    await first.prompt(id, "say one", "burst 300");
    first.close();
    const later = await AcpClient.open(served, way);
    await later.agent.request(methods.agent.session.load, {
      sessionId: id,
      cwd: home().workspace,
      mcpServers: [],
    });
    expect(later.said).toHaveLength(301);
    await later.prompt(id, "say two");
    expect(later.said.at(-1)).toBe("two");
  });

  test("uses several sessions concurrently", async () => {
    const client = await AcpClient.open(await serveAgents(home()), way);
    const ids = await Promise.all([1, 2, 3].map(() => client.begin(home().workspace)));
    const answers = await Promise.all(ids.map((id, n) => client.prompt(id, "sleep 20", `say ${n}`)));
    expect(answers).toEqual(ids.map(() => ({ stopReason: "end_turn" })));
    expect(client.said.toSorted()).toEqual(["0", "1", "2"]);
  });

  test("gets an agent's error unchanged", async () => {
    const client = await AcpClient.open(await serveAgents(home()), way);
    const id = await client.begin(home().workspace);
    await expect(client.prompt(id, "crash")).rejects.toMatchObject({ code: -32603, data: { exit_code: 3 } });
    expect(await client.prompt(id, "say back")).toEqual({ stopReason: "end_turn" });
  });

  test("gets an error for a session that does not exist or has ended", async () => {
    const client = await AcpClient.open(await serveAgents(home()), way);
    const { prompt, resume, close, setMode } = methods.agent.session;
    const text = [{ type: "text" as const, text: "say hello" }];
    const [sessionId, cwd] = ["missing", home().workspace];
    const unknown = { message: expect.stringContaining("missing") };
    await expect(client.agent.request(prompt, { sessionId, prompt: text })).rejects.toMatchObject(unknown);
    await expect(client.agent.request(resume, { sessionId, cwd })).rejects.toMatchObject(unknown);
    await expect(client.agent.request(setMode, { sessionId, modeId: "ask" })).rejects.toMatchObject(unknown);
    expect(await client.agent.request(close, { sessionId: await client.begin(cwd) })).toEqual({});
    expect(await client.agent.request(close, { sessionId })).toEqual({});
  });

  test("chooses its agent in the message or the URL, or gets the default", async () => {
    const served = await serveAgents(home(), { agents: { defaultAgent: "missing" } });
    await AcpClient.open(served, way, { agent: "stub" });
    await AcpClient.open(served, way, { query: "?agent=stub" });
    await expect(AcpClient.open(served, way)).rejects.toThrow();
    await expect(AcpClient.open(served, way, { agent: "missing-agent" })).rejects.toThrow();
  });

  test("needs a token", async () => {
    const served = await serveAgents(home());
    await expect(AcpClient.open(served, way, { as: "reins_nobody" })).rejects.toThrow();
  });

  test("shares sessions with a client of /v1/rpc", async () => {
    const served = await serveAgents(home());
    const client = await AcpClient.open(served, way);
    const id = await client.begin(home().workspace);
    const other = await RpcClient.open(served);
    const stream = await other.stream();
    await other.result("session/resume", { sessionId: id });
    await client.prompt(id, "say to all");
    await expect.poll(() => stream.said).toEqual(["to all"]);
    await other.prompt(id, "say back");
    await expect.poll(() => client.said).toEqual(["to all", "back"]);
  });
});

/** A client of `/acp` that says exactly what a test wants. */
class RawAcp {
  readonly served: Served;
  connection = "";

  constructor(served: Served) {
    this.served = served;
  }

  static async open(served: Served): Promise<RawAcp> {
    const raw = new RawAcp(served);
    const { headers } = await raw.post(
      { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: 1 } },
      {},
    );
    raw.connection = String(headers["acp-connection-id"]);
    return raw;
  }

  post(body: unknown, headers: Record<string, string> = { "acp-connection-id": this.connection }) {
    return this.served.ask("POST", "/acp", { body, headers });
  }

  async stream(headers: Record<string, string> = {}): Promise<Messages> {
    const shown = {
      authorization: `Bearer ${this.served.access.token}`,
      accept: "text/event-stream",
      "acp-connection-id": this.connection,
      ...headers,
    };
    const { sent, response } = await begin(this.served.address, "GET", "/acp", { headers: shown });
    sent.on("error", () => undefined);
    onTestFinished(() => void sent.destroy());
    return new Messages(new Events(response), () => sent.destroy());
  }
}

describe("the draft over HTTP", () => {
  test("responds with the statuses of the draft, and with a problem for every rejection", async () => {
    const served = await serveAgents(home());
    const raw = await RawAcp.open(served);
    const named = { "acp-connection-id": raw.connection };
    const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
    const list = { jsonrpc: "2.0", id: 1, method: "session/list", params: {} };
    const cases: readonly [string, unknown, Record<string, string>, number][] = [
      ["another type", JSON.stringify(list), { ...named, "content-type": "text/plain" }, 415],
      ["no JSON", "{", { ...named, "content-type": "application/json" }, 400],
      ["no object", "7", { ...named, "content-type": "application/json" }, 400],
      ["a batch", [list], named, 400],
      ["no connection", list, {}, 400],
      ["initialize again", hello, named, 400],
      ["an unknown connection", list, { "acp-connection-id": "none" }, 404],
      ["no session", { ...list, method: "session/prompt" }, named, 400],
      ["a session in the message alone", { ...list, params: { sessionId: "a" } }, named, 202],
      ["another session", { ...list, params: { sessionId: "a" } }, { ...named, "acp-session-id": "b" }, 400],
      ["what it takes", list, named, 202],
    ];
    for (const [what, body, headers, status] of cases) {
      const answer = await raw.post(body, headers);
      expect([what, answer.status]).toEqual([what, status]);
      if (status >= 400) expect(Problem.parse(answer.body).status).toBe(status);
      else expect(answer.text).toBe("");
    }
    const ask = async (method: string, headers: Record<string, string>) =>
      (await served.ask(method, "/acp", { headers })).status;
    expect(await ask("GET", named)).toBe(406);
    expect(await ask("GET", { accept: "text/event-stream" })).toBe(400);
    expect(await ask("GET", { accept: "text/event-stream", "acp-connection-id": "none" })).toBe(404);
    expect(await ask("GET", { ...named, accept: "text/event-stream", "last-event-id": "x" })).toBe(400);
    expect(await ask("PUT", named)).toBe(405);
    expect(await ask("DELETE", {})).toBe(400);
    expect(await ask("DELETE", { "acp-connection-id": "none" })).toBe(404);
    expect(await ask("DELETE", named)).toBe(202);
    expect(await ask("DELETE", named)).toBe(404);
  });

  test("has one stream per connection and per session, with event ids to resume from", async () => {
    const raw = await RawAcp.open(await serveAgents(home()));
    const whole = await raw.stream();
    expect(whole.status).toBe(200);
    expect((await raw.stream()).status).toBe(409);
    const params = { cwd: home().workspace, mcpServers: [] };
    await raw.post({ jsonrpc: "2.0", id: "new", method: "session/new", params });
    await expect
      .poll(() => whole.messages)
      .toMatchObject([{ id: "new", result: { sessionId: expect.any(String) } }]);
    const id = String(Object(whole.messages[0]?.result).sessionId);
    const headers = { "acp-connection-id": raw.connection, "acp-session-id": id };
    const prompt = (name: string, ...steps: string[]) =>
      raw.post(
        {
          jsonrpc: "2.0",
          id: name,
          method: "session/prompt",
          params: { sessionId: id, prompt: promptOf(steps) },
        },
        headers,
      );
    await prompt("first", "say one");
    const session = await raw.stream({ "acp-session-id": id });
    await expect
      .poll(() => session.messages.at(-1))
      .toMatchObject({ id: "first", result: { stopReason: "end_turn" } });
    expect(session.said).toEqual(["one"]);
    expect((await raw.stream({ "acp-session-id": id })).status).toBe(409);
    session.close();
    await session.ended;
    await prompt("second", "say two");
    const [afterFirst] = session.ids;
    const back = await reopen(raw, { "acp-session-id": id, "last-event-id": String(afterFirst) });
    await expect
      .poll(() => back.messages.filter(({ id: of }) => of !== undefined).map(({ id: of }) => of))
      .toEqual(["first", "second"]);
    expect(back.said).toEqual(["two"]);
    expect(whole.messages).toHaveLength(1);
  });

  test("buffers messages of a session until its stream opens", async () => {
    const served = await serveAgents(home());
    const first = await AcpClient.open(served, "http");
    const id = await first.begin(home().workspace);
    await first.prompt(id, "say one");
    const raw = await RawAcp.open(served);
    const [whole, session] = [await raw.stream(), await raw.stream({ "acp-session-id": id })];
    expect(session.status).toBe(200);
    const headers = { "acp-connection-id": raw.connection, "acp-session-id": id };
    const params = { sessionId: id, cwd: home().workspace, mcpServers: [] };
    await raw.post({ jsonrpc: "2.0", id: "load", method: "session/load", params }, headers);
    await expect.poll(() => whole.messages).toMatchObject([{ id: "load", result: {} }]);
    expect(session.said).toEqual(["one"]);
    await first.prompt(id, "say two");
    await expect.poll(() => session.said).toEqual(["one", "two"]);
  });

  test("accepts a late answer, because its clients disconnect when one is rejected", async () => {
    const served = await serveAgents(home());
    const raw = await RawAcp.open(served);
    const whole = await raw.stream();
    const params = { cwd: home().workspace, mcpServers: [] };
    await raw.post({ jsonrpc: "2.0", id: "new", method: "session/new", params });
    await expect.poll(() => whole.messages.length).toBe(1);
    const id = String(Object(whole.messages[0]?.result).sessionId);
    const headers = { "acp-connection-id": raw.connection, "acp-session-id": id };
    const session = await raw.stream({ "acp-session-id": id });
    const turn = { sessionId: id, prompt: promptOf(["run npm test"]) };
    await raw.post({ jsonrpc: "2.0", id: "turn", method: "session/prompt", params: turn }, headers);
    await expect.poll(() => session.asked.length).toBe(1);
    const answer = {
      jsonrpc: "2.0",
      id: session.asked[0]?.id,
      result: { outcome: { outcome: "selected", optionId: "allow_once" } },
    };
    expect((await raw.post(answer, { ...headers, "acp-session-id": "another" })).status).toBe(400);
    expect((await raw.post(answer)).status).toBe(202);
    expect((await raw.post(answer, headers)).status).toBe(202);
    await expect.poll(() => session.said).toEqual(["yes"]);
  });

  test("takes the session from the message, and responds to load and resume on the connection's stream", async () => {
    const served = await serveAgents(home());
    const first = await AcpClient.open(served, "http");
    const id = await first.begin(home().workspace);
    await first.prompt(id, "say one");
    const raw = await RawAcp.open(served);
    const whole = await raw.stream();
    const params = { sessionId: id, cwd: home().workspace, mcpServers: [] };
    for (const method of ["session/load", "session/resume", "session/fork"])
      expect((await raw.post({ jsonrpc: "2.0", id: method, method, params })).status).toBe(202);
    await expect
      .poll(() => whole.messages.map(({ id: of, result }) => [of, result !== undefined]).toSorted())
      .toEqual([
        ["session/fork", true],
        ["session/load", true],
        ["session/resume", true],
      ]);
    const session = await raw.stream({ "acp-session-id": id });
    await expect.poll(() => session.said).toEqual(["one"]);
    const prompt = promptOf(["say two"]);
    await raw.post({
      jsonrpc: "2.0",
      id: "turn",
      method: "session/prompt",
      params: { sessionId: id, prompt },
    });
    await expect.poll(() => session.said).toEqual(["one", "two"]);
    await expect.poll(() => session.messages.at(-1)).toMatchObject({ id: "turn" });
  });

  test("does not accept connections of /v1/rpc or of other principals", async () => {
    const served = await serveAgents(home());
    const raw = await RawAcp.open(served);
    const rpc = await RpcClient.open(served);
    const list = { jsonrpc: "2.0", id: 1, method: "session/list", params: {} };
    expect((await raw.post(list, { "acp-connection-id": String(rpc.connection) })).status).toBe(404);
    rpc.connection = raw.connection;
    expect((await rpc.post(list)).status).toBe(404);
    const neighbour = await served.person();
    const as = neighbour.secret;
    const headers = { "acp-connection-id": raw.connection };
    expect((await served.ask("POST", "/acp", { as, body: list, headers })).status).toBe(403);
  });
});

async function reopen(raw: RawAcp, headers: Record<string, string>): Promise<Messages> {
  for (;;) {
    const stream = await raw.stream(headers);
    if (stream.status !== 409) return stream;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
