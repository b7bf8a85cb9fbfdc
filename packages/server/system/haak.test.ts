import { describe, expect, test } from "vitest";
import { ofType, saidIn, serveHaak } from "./fixtures/haak.ts";

describe("the methods of /ws", () => {
  test("begin a session, run a turn in it, report its status, and close it", async () => {
    const { connect } = await serveHaak();
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    expect(result).toMatchObject({
      session_key: expect.stringMatching(/^coder:ws:/),
      session_id: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const session_key = String(result?.session_key);
    expect((await client.ask("session.status", { session_key })).result).toEqual({ state: "idle" });
    const turn = await client.ask("turn.run", { session_key, message: "say hello\nsay world" });
    expect(saidIn(turn)).toBe("helloworld");
    expect(turn.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn", usage: {} });
    expect(turn.result).toEqual({ status: "complete" });
    expect((await client.ask("session.cancel", { session_key })).result).toEqual({ ok: true });
    expect((await client.ask("session.close", { session_key })).result).toEqual({ ok: true });
    expect((await client.ask("session.status", { session_key })).result).toEqual({ state: "closed" });
  });

  test("accept frames with and without a version, and return any id unchanged", async () => {
    const { connect } = await serveHaak();
    const client = await connect();
    for (const id of ["text", 7, { deep: [1] }, null]) {
      const { error, ...frame } = await client.ask("session.status", { session_key: "none" }, id);
      expect(frame).toEqual({ id, events: [] });
      expect(error).toEqual({ code: "session_not_found", message: expect.any(String) });
    }
    client.send({ jsonrpc: "2.0", id: "v", method: "session.init", params: { agent_id: "coder" } });
    expect(await client.answer("v")).toMatchObject({ jsonrpc: "2.0", id: "v" });
  });

  test("report what is wrong with a request, and handle the next one", async () => {
    const { connect } = await serveHaak();
    const client = await connect();
    client.send("no json");
    expect((await client.answer(null)).error?.code).toBe("invalid_request");
    client.send({ id: 1, params: {} });
    expect((await client.answer(1)).error?.code).toBe("invalid_request");
    expect((await client.ask("session.dance", {}, 2)).error?.code).toBe("method_not_found");
    const wrong: readonly [string, object][] = [
      ["session.init", {}],
      ["session.init", { agent_id: "x", mode: "forever" }],
      ["turn.run", { session_key: "x" }],
      ["turn.run", { session_key: "x", message: "a", messages: [{ role: "user", content: "b" }] }],
      ["turn.run", { session_key: "x", messages: [{ role: "user", content: [{ type: "video" }] }] }],
      ["session.close", {}],
    ];
    for (const [index, [method, params]] of wrong.entries())
      expect((await client.ask(method, params, `w${index}`)).error).toMatchObject({ code: "invalid_params" });
    expect((await client.ask("session.init", { agent_id: "coder" }, 3)).result).toBeDefined();
  });

  test("survive frames that are nested too deeply", async () => {
    const { connect } = await serveHaak();
    const [client, other] = [await connect(), await connect()];
    const nests = [500, 600, 5_000, 100_000, 1_000_000].flatMap((depth) => [
      `${"[".repeat(depth)}${"]".repeat(depth)}`,
      `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
    ]);
    for (const nest of nests) {
      const before = client.frames.length;
      client.send(`{"id":${nest},"method":"session.status","params":{"session_key":"none"}}`);
      client.send(`{"id":1,"method":"session.init","params":{"agent_id":"coder","mode":${nest}}}`);
      client.send(`{"jsonrpc":${nest},"id":1,"method":"session.status"}`);
      await client.until(() => client.frames.length >= before + 3);
      expect(client.frames.slice(before).every(({ error }) => error !== undefined)).toBe(true);
    }
    expect((await other.ask("session.status", { session_key: "none" })).error?.code).toBe(
      "session_not_found",
    );
  });

  test("return the same session id before and after the agent is available", async () => {
    let isInstalled = false;
    const { connect } = await serveHaak({ runner: { isInstalled: async () => isInstalled } });
    const client = await connect();
    const init = async (more: object = {}) =>
      (await client.ask("session.init", { agent_id: "coder", session_key: "coder:later", ...more })).result;
    const first = await init();
    expect(first).toMatchObject({ session_id: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const told = new Set([first?.session_id, (await init())?.session_id]);
    told.add((await init({ mode: "persistent" }))?.session_id);
    const early = await client.ask("turn.run", { session_key: "coder:later", message: "say hello" });
    expect(early.events).toMatchObject([{ type: "error", code: "backend_unavailable" }]);
    const other = await client.ask("session.init", { agent_id: "writer", session_key: "coder:later" });
    expect(other.error?.code).toBe("session_conflict");
    isInstalled = true;
    expect(saidIn(await client.ask("turn.run", { session_key: "coder:later", message: "say hello" }))).toBe(
      "hello",
    );
    told.add((await init())?.session_id);
    expect(told).toEqual(new Set([first?.session_id]));
    const again = await connect();
    const { result } = await again.ask("session.init", { agent_id: "coder", session_key: "coder:later" });
    expect(result?.session_id).toBe(first?.session_id);
  });

  test("can be sent without waiting for responses", async () => {
    const { connect } = await serveHaak();
    const client = await connect();
    const session_key = "agent:telegram:@zach";
    client.send({ id: 1, method: "session.init", params: { agent_id: "openclaw", session_key } });
    client.send({ id: 2, method: "turn.run", params: { session_key, message: "say at once" } });
    expect((await client.answer(1)).result).toMatchObject({ session_key });
    expect(saidIn(await client.answer(2))).toBe("at once");
  });

  test("are ignored after a frame that closes the connection", async () => {
    const { connect, served } = await serveHaak();
    const client = await connect();
    client.send(Buffer.from("no text"));
    client.send({
      id: 1,
      method: "session.init",
      params: { agent_id: "coder", session_key: "coder:ws:late" },
    });
    expect(await client.closed).toBe(1003);
    const sessions = async () => (await served.ask("GET", "/v1/haak/sessions")).body;
    const other = await connect();
    await other.ask("session.init", { agent_id: "coder", session_key: "coder:ws:other" });
    expect(await sessions()).toMatchObject({ sessions: [{ session_key: "coder:ws:other" }] });
  });

  test("reject a ninth queued turn at once with queue_full", async () => {
    const { connect } = await serveHaak();
    const [client, other] = [await connect(), await connect()];
    const session_key = "coder:ws:line";
    await client.ask("session.init", { agent_id: "coder", session_key });
    const running = client.ask("turn.run", { session_key, message: "wait" }, "running");
    await expect
      .poll(async () => (await other.ask("session.status", { session_key })).result)
      .toEqual({ state: "running" });
    const waiting = Array.from({ length: 8 }, (_, n) =>
      client.ask("turn.run", { session_key, message: `say ${n}` }, `w${n}`),
    );
    const refused = await client.ask("turn.run", { session_key, message: "say too much" }, "ninth");
    expect(refused).toMatchObject({ events: [], error: { code: "queue_full" } });
    await other.ask("session.cancel", { session_key });
    expect((await running).events.at(-1)).toMatchObject({ stop_reason: "cancelled" });
    expect((await Promise.all(waiting)).map(saidIn)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  });

  test("keep a turn running after its client disconnected", async () => {
    const { connect, served } = await serveHaak();
    const client = await connect();
    const session_key = "coder:ws:gone";
    await client.ask("session.init", { agent_id: "coder", session_key });
    client.send({ id: "t", method: "turn.run", params: { session_key, message: "burst 50\nsay the end" } });
    await client.until(() => client.frames.some(({ event }) => event?.type === "text_delta"));
    client.close();
    const turns = async () => {
      const path = `/v1/haak/sessions/${encodeURIComponent(session_key)}/turns`;
      return Object((await served.ask("GET", path)).body).turns;
    };
    await expect.poll(turns).toMatchObject([{ stop_reason: "end_turn" }]);
  });
});

describe("authentication at /ws", () => {
  test("accepts a token in a header or in the URL, at /ws and at /", async () => {
    const { connect, served } = await serveHaak();
    const { token } = served.access;
    const ways: readonly (readonly [string, Record<string, string>])[] = [
      ["/ws", { authorization: `Bearer ${token}` }],
      ["/", { authorization: `Bearer ${token}` }],
      ["/ws", { "x-api-key": token }],
      [`/ws?token=${token}`, {}],
      [`/?token=${token}`, {}],
    ];
    for (const [path, headers] of ways) {
      const client = await connect(path, headers);
      expect((await client.ask("session.init", { agent_id: "reed" })).result).toMatchObject({
        trust: "standing",
      });
    }
    await expect(connect("/ws", {})).rejects.toThrow("401");
    await expect(connect("/ws?token=reins_guess", {})).rejects.toThrow("401");
    await expect(connect("/nowhere")).rejects.toThrow("404");
    await expect(connect("/ws", { origin: "https://evil.example" })).rejects.toThrow("403");
  });

  test("treats an agent's name as a claim: the token decides", async () => {
    const { connect, served } = await serveHaak();
    const { identity } = served.harness;
    await identity.addUser({ id: "ann", name: "Ann", email: "some@example.com", roles: [], scopes: [] });
    const { secret, id } = await identity.createToken({ user: "ann", agents: ["coder"], kind: "agent" });
    const client = await connect("/ws", { authorization: `Bearer ${secret}` });
    const trust = async (agent_id: string) => (await client.ask("session.init", { agent_id })).result?.trust;
    expect([await trust("coder"), await trust("reed")]).toEqual(["registered", "unknown"]);
    await identity.revokeToken(id);
    expect((await client.ask("session.init", { agent_id: "coder" })).error?.code).toBe("unauthenticated");
  });

  test("accepts local clients without a token as unknown, where the operator allows it", async () => {
    const { connect, served } = await serveHaak({ dialect: { auth: "none" } });
    const [first, second] = [await connect("/", {}), await connect("/ws", {})];
    const { result } = await first.ask("session.init", { agent_id: "reed" });
    expect(result).toMatchObject({ trust: "unknown" });
    const session_key = String(result?.session_key);
    const turn = await first.ask("turn.run", { session_key, message: "run ls" });
    expect(ofType(turn, "policy_gate")).toContainEqual(
      expect.objectContaining({ tool: "Bash", verdict: "blocked" }),
    );
    expect((await second.ask("session.status", { session_key })).result).toEqual({ state: "idle" });
    await expect(
      second.ask("session.init", { agent_id: "reed", session_key: "reed:cli:local" }),
    ).resolves.toMatchObject({ error: { code: "invalid_params" } });
    await expect(connect("/ws", { authorization: "Bearer wrong" })).rejects.toThrow("401");
    await expect(connect("/ws", { origin: "https://evil.example" })).rejects.toThrow("403");
    await expect(connect("/ws", { "x-forwarded-for": "203.0.113.7" })).rejects.toThrow("401");
    const people = await served.harness.identity.listTokens();
    expect(people.filter(({ user }) => user === "anonymous")).toHaveLength(1);
  });

  test("hides the sessions of other principals", async () => {
    const { connect, served } = await serveHaak();
    const client = await connect();
    const { result } = await client.ask("session.init", { agent_id: "coder", session_key: "coder:x:1" });
    const { secret } = await served.person();
    const other = await connect("/ws", { authorization: `Bearer ${secret}` });
    for (const method of ["session.status", "session.cancel", "session.close"])
      expect((await other.ask(method, { session_key: "coder:x:1" })).error?.code).toBe("session_conflict");
    const path = `/v1/haak/sessions/${result?.session_id}`;
    expect((await served.ask("GET", path, { as: secret })).status).toBe(404);
  });
});

test("a frame that is too large or binary closes only its connection", async () => {
  const { connect } = await serveHaak({ dialect: { limits: { maxMessageBytes: 10_000 } } });
  const [client, other] = [await connect(), await connect()];
  client.send({ id: 1, method: "session.init", params: { agent_id: "x".repeat(20_000) } });
  expect(await client.closed).toBe(1009);
  expect((await other.ask("session.init", { agent_id: "coder" })).result).toBeDefined();
});

describe("the stored sessions of /ws", () => {
  test("are listed as HAAK's rows, by key or by id", async () => {
    const { connect, served } = await serveHaak();
    const client = await connect();
    const session_key = "coder:ws:kept";
    const { result } = await client.ask("session.init", { agent_id: "coder", session_key });
    await client.ask("turn.run", { session_key, message: "say one" });
    await client.ask("turn.run", { session_key, message: "say two" });
    const get = async (path: string) => (await served.ask("GET", `/v1/haak/sessions${path}`)).body;
    const row = await get(`/${encodeURIComponent(session_key)}`);
    expect(row).toEqual({
      id: result?.session_id,
      session_key,
      agent_id: "coder",
      backend: "stub",
      model: "small",
      mode: "domain",
      state: "idle",
      pubkey: expect.any(String),
      last_activity: expect.any(String),
      created_at: expect.any(String),
      close_reason: null,
    });
    expect(await get("?limit=1")).toEqual({ sessions: [row] });
    const { turns } = Object(await get(`/${result?.session_id}/turns`));
    expect(turns).toMatchObject([
      { seq: 0, prev_cid: null },
      { seq: 1, prev_cid: turns[0].id },
    ]);
    const { ledger } = Object(await get(`/${result?.session_id}/ledger?limit=500`));
    expect(ledger.find(({ cid }: { cid: string }) => cid === turns[1].id)).toMatchObject({
      quality: "turn",
      parents: [turns[0].id],
      entity_id: session_key,
    });
    const { history } = Object(await get(`/${result?.session_id}/history`));
    expect(history.map(({ role, turn_id }: Record<string, string>) => [role, turn_id])).toEqual([
      ["user", turns[0].id],
      ["assistant", turns[0].id],
      ["user", turns[1].id],
      ["assistant", turns[1].id],
    ]);
    expect((await served.ask("GET", "/v1/haak/sessions/none")).status).toBe(404);
  });
});
