import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { AhpClient } from "../src/client/client.ts";
import type { Handlers } from "../src/server/handlers.ts";
import { AhpServer, type ServerOptions } from "../src/server/server.ts";
import { knownTokens } from "../src/transport/auth.ts";
import { type HttpOptions, serveHttp } from "../src/transport/http/serve.ts";
import { vectorHandlers } from "../test/vectors.ts";
import { rawHttp } from "./fixtures/raw.ts";
import { temporaryFolder } from "./fixtures/temporary.ts";

async function serve(
  options: HttpOptions = {},
  server: ServerOptions = {},
  handlers: Handlers = vectorHandlers(),
) {
  const served = await serveHttp(new AhpServer(handlers, server), options);
  onTestFinished(() => served.close());
  return served;
}

const event = (id: string | number, payload: unknown = {}) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "ahp/event",
    params: { event_type: "pre_action", session_id: "s", agent_id: "a", timestamp: "t", depth: 0, payload },
  });

describe("the HTTP status is", () => {
  test("200 for a request, with JSON", async () => {
    const { address } = await serve();
    const { status, headers, body } = await rawHttp(address, event("1"));
    expect([status, headers["content-type"], body]).toEqual([
      200,
      "application/json",
      '{"jsonrpc":"2.0","id":"1","result":{"decision":"allow"}}',
    ]);
  });

  test("204 for a notification", async () => {
    const { address } = await serve();
    const note = JSON.stringify({ jsonrpc: "2.0", method: "ahp/unknown", params: {} });
    expect(await rawHttp(address, note)).toMatchObject({ status: 204, body: "" });
  });

  test("400 for an unreadable body, as JSON-RPC by default and as upstream in compatibility mode", async () => {
    const { address } = await serve();
    for (const body of ["not json", "", Buffer.from([0x22, 0xc3, 0x22])]) {
      const answer = await rawHttp(address, body);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body)).toMatchObject({
        id: null,
        error: { code: -32700, data: { reason: "parse_error" } },
      });
    }
    const compat = await serve({}, { compat: true });
    const answer = await rawHttp(compat.address, "not json");
    expect(answer).toMatchObject({
      status: 400,
      body: expect.stringMatching(/^Failed to parse the request body as JSON: /),
    });
    expect(answer.headers["content-type"]).toMatch("text/plain");
  });

  test("404 elsewhere, 405 for other methods, 415 for other content", async () => {
    const { address } = await serve();
    expect(await rawHttp(`${address}/more`, event("1"))).toMatchObject({ status: 404 });
    expect(await rawHttp(address, "", { method: "PUT" })).toMatchObject({
      status: 405,
      headers: { allow: "POST" },
    });
    const text = await rawHttp(address, event("1"), { headers: { "content-type": "text/plain" } });
    expect(text).toMatchObject({
      status: 415,
      body: "Expected request with `Content-Type: application/json`",
    });
    const patched = { "content-type": "application/ahp+json; charset=utf-8" };
    expect(await rawHttp(address, event("1"), { headers: patched })).toMatchObject({ status: 200 });
  });

  test("413 for a body beyond the limit, with or without content-length", async () => {
    const { address } = await serve({ limits: { maxMessageBytes: 200 } });
    const large = event("1", "x".repeat(300));
    expect(await rawHttp(address, large)).toMatchObject({
      status: 413,
      body: expect.stringMatching(/^Failed to buffer the request body: /),
    });
    const chunked = await rawHttp(address, large, { headers: { "transfer-encoding": "chunked" } });
    expect(chunked.status).toBe(413);
    expect(await rawHttp(address, event("1"))).toMatchObject({ status: 200 });
  });

  test("503 when a peer has too many requests in flight, and not for other peers", async () => {
    let release = () => {};
    const held: Handlers = {
      event: (_, { peer: { principal } }) =>
        principal === "bob"
          ? { decision: "allow" }
          : new Promise((resolve) => (release = () => resolve({ decision: "allow" }))),
    };
    const authenticate = knownTokens([
      { principal: "ann", secret: "sesame" },
      { principal: "bob", secret: "acorn" },
    ]);
    const { address } = await serve({ authenticate, limits: { maxInFlight: 1 } }, {}, held);
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const first = rawHttp(address, event("1"), as("sesame"));
    const second = await until(
      () => rawHttp(address, event("2"), as("sesame")),
      ({ status }) => status === 503,
    );
    expect(second.headers["retry-after"]).toBe("1");
    expect(await rawHttp(address, event("3"), as("acorn"))).toMatchObject({ status: 200 });
    release();
    expect(await first).toMatchObject({ status: 200 });
  });
});

describe("peers that share a token", () => {
  /** A harness whose `slow` sessions wait until they are released. */
  async function withSlow(limits: HttpOptions["limits"] = {}) {
    const waiting: (() => void)[] = [];
    const allow = { decision: "allow" } as const;
    const handlers: Handlers = {
      event: ({ session_id }) =>
        session_id.startsWith("slow")
          ? new Promise((resolve) => waiting.push(() => resolve(allow)))
          : Promise.resolve(allow),
      query: () => ({ answer: "here" }),
    };
    const authenticate = knownTokens([{ principal: "ann", secret: "sesame" }]);
    const options = { authenticate, limits: { drainMs: 10, ...limits } };
    const { address } = await serve(options, { deadlineMs: 1_000_000 }, handlers);
    const headers = { authorization: "Bearer sesame" };
    const names = (session_id: string) => ({ session_id, agent_id: "a" });
    const post = (method: string, params: object) =>
      rawHttp(address, JSON.stringify({ jsonrpc: "2.0", id: "1", method, params }), { headers });
    const shared = { event_type: "pre_action", timestamp: "t", depth: 0, payload: {} };
    return {
      address,
      waiting,
      ask: (session: string) => post("ahp/event", { ...shared, ...names(session) }),
      query: (session: string) => post("ahp/query", { ...names(session), query_type: "q", payload: {} }),
    };
  }

  test("are answered at once while one of them has hundreds of pending events, and so are its queries", async () => {
    const { waiting, ask, query } = await withSlow();
    const refused: number[] = [];
    const asked = Array.from({ length: 400 }, async () => {
      const { status } = await ask("slow");
      if (status !== 200) refused.push(status);
    });
    await expect.poll(() => refused.length).toBe(144);
    expect(await ask("quick")).toMatchObject({ status: 200 });
    expect(await query("slow")).toMatchObject({ status: 200 });
    expect(waiting).toHaveLength(256);
    for (const release of waiting) release();
    await Promise.all(asked);
    expect(new Set(refused)).toEqual(new Set([503]));
  });

  test("have separate limits by agent name, and one limit per principal", async () => {
    const { waiting, ask } = await withSlow({ maxInFlight: 8, maxInFlightPerPrincipal: 32 });
    const refused: number[] = [];
    const askOften = (name: (index: number) => string) =>
      Array.from({ length: 40 }, async (_, index) => {
        const { status } = await ask(name(index));
        if (status !== 200) refused.push(status);
      });
    const asked = askOften((index) => `slow ${index % 3}`);
    await expect.poll(() => refused.length).toBe(16);
    expect(await ask("quick")).toMatchObject({ status: 200 });
    const more = askOften((index) => `slow as well ${index}`);
    await expect.poll(() => refused.length).toBe(16 + 32);
    expect(await ask("quick")).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    for (const release of waiting) release();
    await Promise.all([...asked, ...more]);
    expect(waiting).toHaveLength(32);
    expect(await ask("quick")).toMatchObject({ status: 200 });
  });

  test("can hold a limited number of unfinished bodies, which are released", async () => {
    const { address, ask } = await withSlow({ maxMessageBytes: 1_000, maxInFlightBytesPerPrincipal: 2_000 });
    const { port } = new URL(address);
    const half = `POST /ahp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer sesame\r\ncontent-type: application/json\r\ncontent-length: 950\r\n\r\n${"x".repeat(900)}`;
    const sockets = [1, 2].map(() => connect(Number(port), "127.0.0.1").on("error", () => {}));
    for (const socket of sockets) socket.write(half);
    await until(
      () => ask("quick with a name that is long enough to need more than is left"),
      ({ status }) => status === 503,
    );
    for (const socket of sockets) socket.destroy();
    await until(
      () => ask("quick"),
      ({ status }) => status === 200,
    );
  });
});

describe("authentication over HTTP", () => {
  const authenticate = knownTokens([{ principal: "ann", secret: "sesame" }]);

  test("responds with 401 without a valid token, and accepts bearer token and API key", async () => {
    const { address } = await serve({ authenticate });
    expect(await rawHttp(address, event("1"))).toMatchObject({
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
    for (const headers of [{ authorization: "Bearer nope" }, { "x-api-key": "sesam" }]) {
      expect(await rawHttp(address, event("1"), { headers })).toMatchObject({ status: 401 });
    }
    for (const headers of [{ authorization: "Bearer sesame" }, { "x-api-key": "sesame" }]) {
      expect(await rawHttp(address, event("1"), { headers })).toMatchObject({ status: 200 });
    }
  });

  test("gives handlers the principal", async () => {
    const principals: unknown[] = [];
    const handlers: Handlers = {
      event: (_, { peer }) => {
        principals.push(peer.principal);
        return { decision: "allow" };
      },
    };
    const { address } = await serve({ authenticate }, {}, handlers);
    await rawHttp(address, event("1"), { headers: { "x-api-key": "sesame" } });
    expect(principals).toEqual(["ann"]);
  });

  test("responds with 403 to a rebound host or a page of another origin", async () => {
    const { address } = await serve();
    expect(await rawHttp(address, event("1"), { headers: { host: "evil.example" } })).toMatchObject({
      status: 403,
    });
    expect(await rawHttp(address, event("1"), { headers: { origin: "https://evil.example" } })).toMatchObject(
      { status: 403 },
    );
  });
});

test("a WebSocket whose credential is being checked does not block closing the server", async () => {
  const asked = Promise.withResolvers<void>();
  const known = Promise.withResolvers<string>();
  const authenticate = () => {
    asked.resolve();
    return known.promise;
  };
  const { address, close } = await serve({ authenticate });
  const webSocket = new WebSocket(address.replace("http", "ws"));
  const refused = once(webSocket, "close");
  await asked.promise;
  const closing = close();
  known.resolve("ann");
  await closing;
  await refused;
});

describe("a client over HTTP", () => {
  test("keeps its session by token where a handshake must come first", async () => {
    const { address } = await serve({}, { requireHandshake: true });
    const client = await AhpClient.connect({ type: "http", url: address });
    onTestFinished(() => client.close());
    await client.handshake(["pre_action"]);
    const elsewhere = { ...client.event("pre_action", {}), session_id: "elsewhere", agent_id: "elsewhere" };
    expect(await client.sendEvent(elsewhere)).toEqual({ decision: "allow" });
    expect(await rawHttp(address, event("1"))).toMatchObject({
      body: expect.stringContaining("handshake_required"),
    });
  });

  test("gets a block when the port is closed, and when the harness rejects it", async () => {
    const { address } = await serve({ authenticate: knownTokens([{ principal: "ann", secret: "sesame" }]) });
    const auth = { method: { type: "bearer", token: "sesame" } } as const;
    const client = await AhpClient.connect({ type: "http", url: address, auth });
    await client.handshake([]);
    const stranger = await AhpClient.connect({ type: "http", url: address });
    await expect(stranger.handshake([])).rejects.toThrow("Transport error: HTTP error: 401 Unauthorized - ");
    const unreachable = await AhpClient.connect({ type: "http", url: "http://127.0.0.1:1/ahp" });
    await expect(unreachable.handshake([])).rejects.toThrow("Transport error: HTTP request failed: ");
    await client.close();
    expect(await client.sendEvent("pre_action", {})).toEqual({
      decision: "block",
      reason: "Connection closed",
    });
  });

  test("does not follow a redirect with its key", async () => {
    const { createServer } = await import("node:http");
    const seen: string[] = [];
    const thief = createServer((request, response) => {
      seen.push(request.url ?? "");
      response.writeHead(307, { location: "/stolen" }).end();
    });
    await once(thief.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void thief.close());
    const address = thief.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const auth = { method: { type: "api_key", key: "k" } } as const;
    const client = await AhpClient.connect({ type: "http", url: `http://127.0.0.1:${port}/`, auth });
    await expect(client.handshake([])).rejects.toThrow("HTTP error: 307");
    await client.close();
    expect(seen).toEqual(["/"]);
  });
});

test("HTTP and WebSocket clients use TLS if the URL says so", async () => {
  const folder = await temporaryFolder();
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const pair = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  execFileSync("openssl", ["req", "-x509", ...pair, ...subject, "-keyout", keyFile, "-out", certFile], {
    stdio: "ignore",
  });
  const [key, cert] = [readFileSync(keyFile), readFileSync(certFile)];
  const { address } = await serve({ tls: { key, cert } });
  expect(address).toMatch(/^https:/);
  for (const type of ["http", "websocket"] as const) {
    const url = type === "http" ? address : address.replace("https", "wss");
    const client = await AhpClient.connect({ type, url, ca: cert });
    await client.handshake([]);
    expect(await client.sendEvent("pre_action", {})).toEqual({ decision: "allow" });
    await client.close();
    await expect(AhpClient.connect({ type, url }).then((stranger) => stranger.handshake([]))).rejects.toThrow(
      /self.signed/i,
    );
  }
});

test("closing finishes a running request", async () => {
  const started = Promise.withResolvers<void>();
  const decided = Promise.withResolvers<{ decision: "allow" }>();
  const handlers: Handlers = {
    event: () => {
      started.resolve();
      return decided.promise;
    },
  };
  const served = await serve({}, {}, handlers);
  const answer = rawHttp(served.address, event("1"));
  await started.promise;
  const closing = served.close();
  decided.resolve({ decision: "allow" });
  expect(await answer).toMatchObject({ status: 200 });
  await closing;
  await expect(rawHttp(served.address, event("2"))).rejects.toThrow("ECONNREFUSED");
});

test("a peer that disconnects during a request does not affect others", async () => {
  const { address } = await serve();
  const { port } = new URL(address);
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(
    "POST /ahp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{",
  );
  socket.destroy();
  expect(await rawHttp(address, event("1"))).toMatchObject({ status: 200 });
});

async function until<Value>(make: () => Promise<Value>, holds: (value: Value) => boolean): Promise<Value> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const value = await make();
    if (holds(value)) return value;
  }
  throw new Error("it never came true");
}

test("a client gets an error over HTTP for a rejected notification", async () => {
  const { address } = await serve();
  const client = await AhpClient.connect({ type: "http", url: address });
  onTestFinished(() => client.close());
  await client.handshake([]);
  await expect(client.sendNotification("task_list", { run_id: "r" })).rejects.toThrow(
    "missing field `session_id`",
  );
  await client.sendNotification("post_action", {});
});
