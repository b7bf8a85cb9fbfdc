import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { ClientOptions } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import type { McpServer } from "../src/server-entry.ts";
import { connect, textIn } from "./fixtures/client.ts";
import { wrapped } from "./fixtures/home.ts";
import { modernLab, sessionLab } from "./fixtures/lab-web.ts";
import { RawAgent } from "./fixtures/raw-agent.ts";
import { sseLab } from "./fixtures/sse-lab.ts";
import { serveWeb } from "./fixtures/web-server.ts";

const KEY = "sesame-open-4711";
const limits = { cancelMs: 300, firstBackoffMs: 10, stopMs: 500 };
const modern: ClientOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

function webServer(url: string, type: "http" | "sse" = "http"): McpServer {
  return { type, name: "lab", url, headers: [{ name: "X-Key", value: KEY }] };
}

const servers = [
  { kind: "with sessions", open: sessionLab, type: "http", options: {} },
  { kind: "without sessions", open: modernLab, type: "http", options: modern },
  { kind: "in the way of 2024", open: () => sseLab(), type: "sse", options: {} },
] as const;

describe.each(servers)("a server on the web, $kind", ({ open, type, options }) => {
  test.each(["stdio", "http"] as const)("is governed like any other, for an agent by %s", async (how) => {
    const web = await open();
    const { gate, folder, wrapped: server } = await wrapped(webServer(web.url, type), how, { limits });
    gate.hidden.add("forbidden");
    gate.decision = ({ tool, arguments: given }) =>
      tool === "fail" ? { allowed: false, reason: "no" } : { allowed: true, arguments: given };
    const client = await connect(server.server, options);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("forbidden");
    const path = join(folder, "written");
    await client.callTool({ name: "write", arguments: { path, text: "yes" } });
    expect(await readFile(path, "utf8")).toBe("yes");
    expect(textIn(await client.callTool({ name: "fail" }))).toBe("no");
    expect(gate.decided.map(({ tool }) => tool)).toEqual(["write", "fail"]);
    expect(gate.reported).toMatchObject([{ outcome: { kind: "completed" } }]);
  });

  test("gets its credentials with every request, and the agent never sees them", async () => {
    const web = await open();
    const { wrapped: server } = await wrapped(webServer(web.url, type), "stdio", { limits });
    const client = await connect(server.server, options);
    await client.callTool({ name: "echo", arguments: { text: "hi" } });
    expect(web.requests.length).toBeGreaterThan(1);
    for (const { headers } of web.requests) expect(headers.get("x-key")).toBe(KEY);
    expect(JSON.stringify(server.server)).not.toContain(KEY);
    expect(JSON.stringify(server.server)).not.toContain(web.url);
  });

  test("receives the cancellation of a call", async () => {
    const web = await open();
    const { gate, folder, wrapped: server } = await wrapped(webServer(web.url, type), "stdio", { limits });
    const client = await connect(server.server, options);
    const path = join(folder, "slow");
    const cancel = new AbortController();
    const heard: number[] = [];
    const call = client.callTool(
      { name: "slow", arguments: { path } },
      { signal: cancel.signal, onprogress: ({ progress }) => heard.push(progress) },
    );
    await expect.poll(() => existsSync(path)).toBe(true);
    await expect.poll(() => heard).toEqual([1, 2]);
    cancel.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => readFile(path, "utf8")).toBe("stopped");
    await expect.poll(() => gate.reported).toMatchObject([{ outcome: { kind: "unknown" } }]);
  });
});

/** An address without a listener. */
async function closedPlace(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}

describe("a server with sessions", () => {
  test("asks back over whatever stream is open", async () => {
    const web = await sessionLab();
    const { wrapped: server } = await wrapped(webServer(web.url), "http", { limits });
    const client = await connect(server.server, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { sure: true } }));
    expect(textIn(await client.callTool({ name: "confirm" }))).toBe("sure: true");
  });

  test("that forgot the session is introduced to the agent anew, and the call is made once", async () => {
    const web = await sessionLab();
    const { gate, wrapped: server } = await wrapped(webServer(web.url), "stdio", { limits });
    const client = await connect(server.server);
    await client.callTool({ name: "echo", arguments: { text: "one" } });
    web.forget();
    expect(textIn(await client.callTool({ name: "echo", arguments: { text: "two" } }))).toBe("two");
    expect(gate.decided).toHaveLength(2);
    expect(gate.reported).toMatchObject([
      { outcome: { kind: "completed" } },
      { outcome: { kind: "completed" } },
    ]);
    expect(web.sessions).toBe(1);
  });

  test("receives the end of the session", async () => {
    const web = await sessionLab();
    const { wrapped: server } = await wrapped(webServer(web.url), "stdio", { limits });
    const client = await connect(server.server);
    await client.listTools();
    expect(web.sessions).toBe(1);
    await server.close();
    expect(web.sessions).toBe(0);
  });
});

describe("a server without sessions", () => {
  test("gets arguments repeated in headers as its schema asks, as they were decided", async () => {
    const web = await modernLab();
    const { gate, wrapped: server } = await wrapped(webServer(web.url), "stdio", { limits });
    const client = await connect(server.server, modern);
    expect(textIn(await client.callTool({ name: "routed", arguments: { region: "eu" } }))).toBe("eu");
    gate.decision = () => ({ allowed: true, arguments: { region: "näher" } });
    expect(textIn(await client.callTool({ name: "routed", arguments: { region: "us" } }))).toBe("näher");
    const sent = web.requests.filter(({ headers }) => headers.get("mcp-name") === "routed");
    expect(sent.map(({ headers }) => headers.get("mcp-param-region"))).toEqual([
      "eu",
      `=?base64?${Buffer.from("näher").toString("base64")}?=`,
    ]);
  });
});

describe("a stream", () => {
  test.each(["stdio", "http"] as const)("of news reaches an agent by %s under its own id", async (how) => {
    const web = await modernLab();
    const { wrapped: server } = await wrapped(webServer(web.url), how, { limits });
    let news = 0;
    const onChanged = () => {
      news += 1;
    };
    await connect(server.server, {
      ...modern,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    });
    web.toolsChanged();
    await expect.poll(() => news).toBe(1);
    web.toolsChanged();
    await expect.poll(() => news).toBe(2);
  });

  test("that breaks is resumed where it broke", async () => {
    const event = (id: string, data: string) => `id: ${id}\nretry: 10\ndata: ${data}\n\n`;
    const stream = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } });
    let pending: unknown;
    const web = await serveWeb(async (request) => {
      const last = request.headers.get("last-event-id");
      if (last === "first") return stream(event("second", ""));
      if (last === "second")
        return stream(
          event("third", JSON.stringify({ jsonrpc: "2.0", id: pending, result: { late: true } })),
        );
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const { id, method, params } = JSON.parse(await request.text());
      if (id === undefined) return new Response(null, { status: 202 });
      if (method === "tools/list") return Response.json({ jsonrpc: "2.0", id, result: { tools: [] } });
      const result = {
        protocolVersion: params?.protocolVersion,
        capabilities: {},
        serverInfo: { name: "s", version: "1" },
      };
      if (method === "initialize") return Response.json({ jsonrpc: "2.0", id, result });
      pending = id;
      return stream(event("first", ""));
    });
    const { gate, wrapped: server } = await wrapped(webServer(web.url), "stdio", { limits });
    const agent = RawAgent.start(server.server);
    await agent.introduce();
    expect(await agent.call(1, "slow")).toMatchObject({ result: { late: true } });
    expect(gate.reported).toMatchObject([{ outcome: { kind: "completed" } }]);
    expect(
      web.requests
        .filter(({ method }) => method === "GET")
        .map(({ headers }) => headers.get("last-event-id")),
    ).toContain("second");
  });
});

describe("a server on the web that is not what it should be", () => {
  const handshake = async (web: { url: string }, type: "http" | "sse" = "http") => {
    const home = await wrapped(webServer(web.url, type), "stdio", { limits: { ...limits, startMs: 2_000 } });
    return {
      ...home,
      failure: await connect(home.wrapped.server).then(String, (error: Error) => error.message),
    };
  };

  test("cannot have its credentials sent elsewhere by a redirect", async () => {
    const thief = await serveWeb(() => new Response("thanks"));
    const web = await serveWeb(() => new Response(null, { status: 307, headers: { location: thief.url } }));
    const { failure } = await handshake(web);
    expect(failure).toContain("redirects to somewhere else");
    expect(thief.requests).toEqual([]);
  });

  test("may move within its own house", async () => {
    const lab = await sessionLab();
    const inner = new URL(lab.url);
    const web = await serveWeb((request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/") return new Response(null, { status: 308, headers: { location: "/mcp/" } });
      return fetch(inner, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        duplex: "half",
      });
    });
    const { wrapped: server } = await wrapped(webServer(web.url), "stdio", { limits });
    const client = await connect(server.server);
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  });

  test("cannot have messages posted elsewhere", async () => {
    const thief = await serveWeb(() => new Response("thanks"));
    const { failure } = await handshake(await sseLab(`${thief.url}/messages`), "sse");
    expect(failure).toContain("somewhere else");
    expect(thief.requests).toEqual([]);
  });

  test("and refuses is quoted without the credentials", async () => {
    const web = await serveWeb(
      () =>
        new Response(
          JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_001, message: "go away" } }),
          { status: 401 },
        ),
    );
    expect((await handshake(web)).failure).toContain("go away");
    const plain = await serveWeb(() => new Response("nope", { status: 403 }));
    const { failure } = await handshake(plain);
    expect(failure).toContain("HTTP status 403");
    expect(failure).not.toContain(KEY);
  });

  test("and is not there at all is said to be", async () => {
    const { failure, gate } = await handshake({ url: await closedPlace() });
    expect(failure).toMatch(/did not answer: fetch failed: .*ECONNREFUSED/);
    expect(gate.decided).toEqual([]);
  });

  test("and breaks off in mid-call leaves the outcome unknown", async () => {
    const lab = await sseLab();
    const { gate, folder, wrapped: server } = await wrapped(webServer(lab.url, "sse"), "stdio", { limits });
    const client = await connect(server.server);
    const path = join(folder, "slow");
    const call = client.callTool({ name: "slow", arguments: { path } });
    await expect.poll(() => existsSync(path)).toBe(true);
    lab.hangUp();
    await expect(call).rejects.toThrow(/is gone: its stream ended/);
    expect(gate.reported).toMatchObject([{ outcome: { kind: "unknown" } }]);
  });

  test("and answers with more than anybody can take fails that call alone", async () => {
    const lab = await modernLab();
    const { gate, wrapped: server } = await wrapped(webServer(lab.url), "stdio", {
      limits: { ...limits, messageBytes: 20_000 },
    });
    const client = await connect(server.server, modern);
    const call = client.callTool({ name: "big", arguments: { length: 30_000 } });
    await expect(call).rejects.toThrow(/more than 20000 bytes/);
    expect(gate.reported).toMatchObject([{ outcome: { kind: "unknown" } }]);
    expect(textIn(await client.callTool({ name: "echo", arguments: { text: "hi" } }))).toBe("hi");
  });
});
