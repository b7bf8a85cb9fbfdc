import { describe, expect, it } from "vitest";
import { type RpcStreamOptions, rpcStream } from "./rpc-stream.ts";

/** A server of `/v1/rpc` that a test writes to; `post` answers what is not `initialize`. */
class FakeServer {
  readonly posted: Record<string, unknown>[] = [];
  /** The ids of the messages whose response is to come on the stream. */
  readonly later: unknown[] = [];
  readonly opened: (string | null)[] = [];
  post: (message: Record<string, unknown>) => Response = () => new Response(null, { status: 202 });
  isForgetful = false;
  isEnded = false;
  /** The only token that is not refused. */
  valid: string | undefined;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #next = 1;

  readonly fetch: typeof fetch = async (_url, { method, headers, body } = {}) => {
    const token = new Headers(headers).get("authorization");
    const isRefused = this.valid !== undefined && token !== `Bearer ${this.valid}`;
    if (isRefused && method === "GET") return new Response(null, { status: 401 });
    if (method === "GET") return this.#open(new Headers(headers).get("last-event-id"));
    if (method === "DELETE") {
      this.isEnded = true;
      return new Response(null, { status: 204 });
    }
    const message = JSON.parse(String(body));
    this.posted.push(message);
    if (new Headers(headers).get("prefer") === "respond-async") this.later.push(message.id);
    if (isRefused) return new Response(null, { status: 401 });
    if (message.method !== "initialize") return this.post(message);
    const result = { protocolVersion: 1 };
    return Response.json(
      { jsonrpc: "2.0", id: message.id, result },
      { headers: { "x-acp-connection-id": "c" } },
    );
  };

  send(message: object): void {
    const text = `id: ${this.#next}\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    this.#next += 1;
    this.#stream?.enqueue(new TextEncoder().encode(text));
  }

  break(): void {
    this.#stream?.error(new Error("reset"));
  }

  #open(lastEventId: string | null): Response {
    if (this.isForgetful) return new Response(null, { status: 404 });
    this.opened.push(lastEventId);
    return new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => {
          this.#stream = controller;
        },
      }),
    );
  }
}

async function opened(options: RpcStreamOptions = {}) {
  const server = new FakeServer();
  const { readable, writable } = rpcStream("http://127.0.0.1:1", { ...options, fetch: server.fetch });
  const writer = writable.getWriter();
  const reader = readable.getReader();
  const write = (message: object) => writer.write(JSON.parse(JSON.stringify({ jsonrpc: "2.0", ...message })));
  const read = async () => (await reader.read()).value;
  await write({ id: 0, method: "initialize", params: {} });
  expect(await read()).toMatchObject({ id: 0, result: { protocolVersion: 1 } });
  await expect.poll(() => server.opened).toEqual([null]);
  return { server, write, read, writer, reader };
}

describe("the stream of /v1/rpc", () => {
  it("names the agent in initialize", async () => {
    const { server } = await opened();
    expect(server.posted[0]).toMatchObject({
      params: { _meta: { "sandboxagent.dev": { agent: "native" } } },
    });
  });

  it("passes a question on once, also when a resumed server asks again, and answers it once", async () => {
    const { server, write, read } = await opened();
    const question = { id: "q", method: "session/request_permission", params: {} };
    server.send(question);
    expect(await read()).toMatchObject({ id: "q" });
    server.break();
    await expect.poll(() => server.opened).toEqual([null, "1"]);
    server.send(question);
    server.send({ method: "after", params: {} });
    expect(await read()).toMatchObject({ method: "after" });
    await write({ id: "q", result: {} });
    await write({ id: "q", result: {} });
    await write({ id: "never asked", result: {} });
    expect(server.posted.filter(({ id }) => id !== 0)).toEqual([{ jsonrpc: "2.0", id: "q", result: {} }]);
  });

  it("drops responses that nothing waits for", async () => {
    const { server, write, read } = await opened();
    await write({ id: 1, method: "session/prompt", params: {} });
    server.send({ id: 7, result: {} });
    server.send({ id: 1, result: { stopReason: "end_turn" } });
    server.send({ id: 1, error: { code: -32603, message: "again" } });
    server.send({ method: "end", params: {} });
    expect(await read()).toMatchObject({ id: 1, result: {} });
    expect(await read()).toMatchObject({ method: "end" });
  });

  it("has the response on the stream, resumed or not, where agents or people may take long", async () => {
    const { server, write, read } = await opened();
    await write({ id: 1, method: "session/new", params: {} });
    await write({ id: 2, method: "_reins/session/history", params: {} });
    await expect.poll(() => server.posted).toHaveLength(3);
    expect(server.later).toEqual([1]);
    server.send({ method: "first", params: {} });
    await read();
    server.break();
    await expect.poll(() => server.opened).toEqual([null, "1"]);
    server.send({ id: 1, result: { sessionId: "s" } });
    expect(await read()).toMatchObject({ id: 1, result: { sessionId: "s" } });
  });

  it.each([{ jsonrpc: "2.0", id: 99, result: {} }, { error: "down" }, "nothing"])(
    "answers a request with an error where the response is %j, which is of another",
    async (answer) => {
      const { server, write, read } = await opened();
      server.post = () => Response.json(answer);
      await write({ id: 1, method: "session/new", params: {} });
      expect(await read()).toMatchObject({ id: 1, error: { message: expect.stringContaining("another") } });
    },
  );

  it("reads messages with the parser that is given", async () => {
    const { server, read } = await opened({
      parse: (text) => {
        if (text.includes("twice")) throw new SyntaxError("a member is there twice");
        return JSON.parse(text);
      },
    });
    server.send({ method: "session/update", params: { twice: 1 } });
    await expect(read()).rejects.toMatchObject({ name: "ConnectionError", code: "incompatible" });
  });

  it("answers a request that the server refused, or that was cut off, with an error", async () => {
    const { server, write, read } = await opened();
    server.post = () => Response.json({}, { status: 403 });
    await write({ id: 1, method: "session/new", params: {} });
    expect(await read()).toMatchObject({ id: 1, error: { data: { problem: { status: 403 } } } });
    server.post = () => {
      throw new TypeError("reset");
    };
    await write({ id: 2, method: "session/prompt", params: {} });
    expect(await read()).toMatchObject({ id: 2, error: { data: { interrupted: true } } });
  });

  it("sends a notification again that met no server", async () => {
    const { server, write } = await opened();
    let tries = 0;
    server.post = () => {
      tries += 1;
      if (tries < 3) throw new TypeError("reset");
      return new Response(null, { status: 202 });
    };
    await write({ method: "session/cancel", params: {} });
    expect(tries).toBe(3);
  });

  it.each([429, 500, 503])("sends an answer again that was refused with %i", async (status) => {
    const { server, write, read } = await opened();
    server.send({ id: "q", method: "session/request_permission", params: {} });
    await read();
    const headers = { "retry-after": "1" };
    const given = [new Response(null, { status, headers }), new Response(null, { status: 202 })];
    const at: number[] = [];
    server.post = () => {
      at.push(performance.now());
      return given.shift() ?? new Response(null, { status: 500 });
    };
    await write({ id: "q", result: {} });
    const [first = 0, second = 0] = at;
    expect(at).toHaveLength(2);
    expect(second - first).toBeGreaterThan(900);
  });

  it.each([404, 409])("goes on after an answer to what is settled or gone (%i)", async (status) => {
    const { server, write, read } = await opened();
    server.send({ id: "q", method: "session/request_permission", params: {} });
    await read();
    server.post = () => new Response(null, { status });
    await write({ id: "q", result: {} });
    server.send({ method: "after", params: {} });
    expect(await read()).toMatchObject({ method: "after" });
    expect(server.posted.filter(({ id }) => id === "q")).toHaveLength(1);
  });

  it.each([400, 401, 403, 413, 501])(
    "fails with what refuses a cancellation for good (%i)",
    async (status) => {
      const { server, write, read } = await opened();
      const failed = read().catch((error: unknown) => error);
      server.post = () => new Response(null, { status });
      await expect(write({ method: "session/cancel", params: {} })).rejects.toMatchObject({ status });
      expect(await failed).toMatchObject({ name: "ApiError", status });
      expect(server.posted).toHaveLength(2);
    },
  );

  it("fails when an answer is refused for longer than broken streams are reopened", async () => {
    const { server, write, read } = await opened({ giveUpMs: 300 });
    const failed = read().catch((error: unknown) => error);
    server.post = () => new Response(null, { status: 503, headers: { "retry-after": "600" } });
    await expect(write({ method: "session/cancel", params: {} })).rejects.toMatchObject({
      status: 503,
      retryAfterMs: 600_000,
    });
    expect(await failed).toMatchObject({ name: "ApiError", status: 503 });
    expect(server.posted.length).toBeGreaterThan(2);
  });

  it("sends what was refused with an expired token again with a new one", async () => {
    const tokens = ["old", "new"];
    const { server, write, read } = await opened({ token: () => tokens.shift() ?? "none left" });
    server.send({ id: "q", method: "session/request_permission", params: {} });
    await read();
    server.valid = "new";
    await write({ id: "q", result: {} });
    expect(server.posted.filter(({ id }) => id === "q")).toHaveLength(2);
    server.break();
    await expect.poll(() => server.opened).toEqual([null, "1"]);
    expect(tokens).toEqual([]);
  });

  it("fails when the server has forgotten the connection", async () => {
    const { server, read } = await opened();
    server.isForgetful = true;
    server.break();
    await expect(read()).rejects.toMatchObject({ name: "ApiError", status: 404 });
  });

  it("ends with its writer, and ends the connection", async () => {
    const { server, writer, read } = await opened();
    await writer.close();
    expect(await read()).toBeUndefined();
    expect(server.isEnded).toBe(true);
  });
});
