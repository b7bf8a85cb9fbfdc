import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { isHttpServer } from "../src/server-entry.ts";
import { stdioServer, wrapped } from "./fixtures/home.ts";

const limits = { cancelMs: 200, stopMs: 500, connections: 2, keepAliveMs: 100, messageBytes: 50_000 };
const JSON_OR_STREAM = "application/json, text/event-stream";
const INTRODUCTION = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

/** What an agent was given, and a way to use it by hand. */
async function open() {
  const home = await wrapped(stdioServer("lab-stdio.ts"), "http", { limits });
  const { server } = home.wrapped;
  if (!isHttpServer(server)) throw new Error("not by HTTP");
  const authorization = server.headers[0]?.value ?? "";
  const send = (method: string, headers: Record<string, string> = {}, body?: unknown) =>
    fetch(server.url, {
      method,
      headers: { authorization, accept: JSON_OR_STREAM, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const introduce = async () => {
    const response = await send("POST", {}, INTRODUCTION);
    const session = { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
    await response.text();
    await send("POST", session, { jsonrpc: "2.0", method: "notifications/initialized" });
    return session;
  };
  return { ...home, url: server.url, authorization, send, introduce };
}

/** The status that a request gets whose Host header is chosen freely, which fetch does not allow. */
function statusFor(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  request(url, { method: "POST", headers }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on("error", reject)
    .end("{}");
  return promise;
}

describe("the door for agents that come by HTTP", () => {
  test("listens on loopback and requires the token", async () => {
    const { url, authorization, send } = await open();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\/[\w-]+$/);
    expect(authorization).toMatch(/^Bearer [\w-]{43}$/);
    expect((await send("POST", {}, INTRODUCTION)).status).toBe(200);
    for (const wrong of ["", "Bearer", "Bearer x", authorization.slice(0, -1), `${authorization}x`]) {
      expect((await send("POST", { authorization: wrong }, INTRODUCTION)).status).toBe(401);
    }
    expect((await fetch(`${url}x`, { method: "POST", headers: { authorization } })).status).toBe(404);
  });

  test("stays shut to pages on the web", async () => {
    const { url, authorization, send } = await open();
    expect((await send("POST", { origin: "https://evil.example" }, INTRODUCTION)).status).toBe(403);
    expect((await send("POST", { origin: "null" }, INTRODUCTION)).status).toBe(403);
    expect((await send("POST", { origin: new URL(url).origin }, INTRODUCTION)).status).toBe(200);
    expect(await statusFor(url, { host: "evil.example", authorization })).toBe(403);
    expect(await statusFor(url, { host: `evil.example:${new URL(url).port}`, authorization })).toBe(403);
  });

  test("gives each session an id, and refuses requests without one", async () => {
    const { send, introduce } = await open();
    const session = await introduce();
    expect(session["mcp-session-id"]).toMatch(/^[\w-]{32}$/);
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    expect((await send("POST", session, list)).status).toBe(200);
    expect((await send("POST", {}, list)).status).toBe(400);
    expect((await send("POST", { "mcp-session-id": "another" }, list)).status).toBe(404);
    expect((await send("GET")).status).toBe(405);
    expect((await send("GET", { ...session, accept: "application/json" })).status).toBe(406);
    expect((await send("PUT", session)).status).toBe(405);
    expect((await send("DELETE", session)).status).toBe(200);
    expect((await send("POST", session, list)).status).toBe(404);
    expect((await send("DELETE", session)).status).toBe(404);
  });

  test("takes what is JSON and of a bearable size", async () => {
    const { send, introduce } = await open();
    const session = await introduce();
    expect((await send("POST", { "content-type": "text/plain" }, "{}")).status).toBe(415);
    expect((await send("POST", session, "{")).status).toBe(400);
    expect((await send("POST", session, `"${"x".repeat(60_000)}"`)).status).toBe(413);
    const answer = await send("POST", session, "42");
    expect(await answer.json()).toMatchObject({ id: null, error: { code: -32_600 } });
  });

  test("answers plainly, in a batch, or as a stream, as the agent can take it", async () => {
    const { send, introduce, gate } = await open();
    const session = await introduce();
    const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });
    const plain = await send("POST", { ...session, accept: "application/json" }, ping(2));
    expect(plain.headers.get("content-type")).toBe("application/json");
    expect(await plain.json()).toEqual({ jsonrpc: "2.0", id: 2, result: {} });
    const batch = await send("POST", session, [
      ping(3),
      { jsonrpc: "2.0", method: "notifications/x" },
      ping(4),
    ]);
    expect(await batch.json()).toMatchObject([{ id: 3 }, { id: 4 }]);
    expect((await send("POST", session, { jsonrpc: "2.0", method: "notifications/x" })).status).toBe(202);

    const decided = Promise.withResolvers<void>();
    gate.decision = async (call) => {
      await decided.promise;
      return { allowed: true, arguments: call.arguments };
    };
    const call = {
      jsonrpc: "2.0",
      id: 5,
      method: "tools/call",
      params: { name: "echo", arguments: { text: "hi" } },
    };
    const slow = await send("POST", session, call);
    expect(slow.headers.get("content-type")).toBe("text/event-stream");
    decided.resolve();
    const stream = await slow.text();
    expect(stream).toContain('event: message\ndata: {"result":{"content":[{"type":"text","text":"hi"}]}');
  });

  test("keeps what waits for a person alive: the connection by comments, the request by progress", async () => {
    const { send, introduce, gate } = await open();
    const session = await introduce();
    const decided = Promise.withResolvers<void>();
    gate.decision = async (call) => {
      await decided.promise;
      return { allowed: true, arguments: call.arguments };
    };
    const params = { name: "echo", arguments: { text: "hi" }, _meta: { progressToken: "p" } };
    const slow = await send("POST", session, { jsonrpc: "2.0", id: 6, method: "tools/call", params });
    let text = "";
    for await (const bytes of slow.body ?? []) {
      text += Buffer.from(bytes).toString();
      const lives = text.match(/^:/gm)?.length ?? 0;
      const reports = text.match(/waiting for a verdict/g)?.length ?? 0;
      if (lives > 1 && reports > 1) decided.resolve();
    }
    expect(text).toContain('"text":"hi"');
    expect(text).toContain('"progressToken":"p"');
    const silent = await send("GET", session);
    for await (const bytes of silent.body ?? []) if (Buffer.from(bytes).toString().startsWith(":")) break;
  });

  test("keeps a stream for what the agent did not ask for, and what came before it was opened", async () => {
    const { send, introduce } = await open();
    const session = await introduce();
    const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "turn", arguments: {} } };
    await (await send("POST", { ...session, accept: "application/json" }, call)).text();
    const stream = await send("GET", session);
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    const [first] = await Array.fromAsync(firstOf(stream));
    expect(first).toContain("notifications/tools/list_changed");
  });

  test("makes room for a new session by ending an idle one", async () => {
    const { send, introduce } = await open();
    const [first, second] = [await introduce(), await introduce()];
    const kept = await send("GET", first);
    const third = await introduce();
    const ping = { jsonrpc: "2.0", id: 9, method: "ping" };
    expect((await send("POST", second, ping)).status).toBe(404);
    expect((await send("POST", third, ping)).status).toBe(200);
    expect((await send("POST", first, ping)).status).toBe(200);
    const alsoKept = await send("GET", third);
    expect((await send("POST", {}, INTRODUCTION)).status).toBe(503);
    await Promise.all([kept.body?.cancel(), alsoKept.body?.cancel()]);
  });

  test("is shut when the server is closed", async () => {
    const { send, introduce, wrapped: server } = await open();
    const session = await introduce();
    await server.close();
    expect((await send("POST", session, { jsonrpc: "2.0", id: 2, method: "ping" })).status).toBe(404);
  });
});

/** The first event with something in it. */
async function* firstOf(response: Response): AsyncGenerator<string> {
  for await (const chunk of response.body ?? []) {
    const text = new TextDecoder().decode(chunk);
    if (!text.startsWith(":")) {
      yield text;
      return;
    }
  }
}
