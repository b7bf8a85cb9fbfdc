import { once } from "node:events";
import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Served } from "./fixtures/home.ts";
import { promptOf } from "./fixtures/rpc-client.ts";

const home = agentsForAll();

/** A WebSocket that keeps what came. */
class Socket {
  readonly got: Record<string, unknown>[] = [];
  readonly webSocket: WebSocket;
  connection: string | undefined;

  private constructor(webSocket: WebSocket) {
    this.webSocket = webSocket;
    webSocket.on("message", (data) => void this.got.push(JSON.parse(String(data))));
    webSocket.on("upgrade", ({ headers }) => {
      this.connection = String(headers["acp-connection-id"]);
    });
    webSocket.on("error", () => undefined);
  }

  static async open(served: Served, { query = "", headers = {} } = {}): Promise<Socket> {
    const url = `${served.address.replace("http", "ws")}/acp${query}`;
    const shown = { authorization: `Bearer ${served.access.token}`, ...headers };
    const socket = new Socket(new WebSocket(url, { headers: shown }));
    onTestFinished(() => socket.webSocket.terminate());
    await once(socket.webSocket, "open");
    return socket;
  }

  static async hello(served: Served): Promise<Socket> {
    const socket = await Socket.open(served);
    await socket.ask("initialize", { protocolVersion: 1 });
    return socket;
  }

  send(message: unknown): void {
    this.webSocket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** The answer to a request. */
  async ask(method: string, params: unknown = {}): Promise<Record<string, unknown>> {
    const id = `${method}-${this.got.length}`;
    this.send({ jsonrpc: "2.0", id, method, params });
    await expect.poll(() => this.got.find((message) => message.id === id && !message.method)).toBeDefined();
    return this.got.find((message) => message.id === id) ?? {};
  }

  async closed(): Promise<number> {
    if (this.webSocket.readyState === WebSocket.CLOSED) throw new Error("it was closed before");
    const [code] = await once(this.webSocket, "close");
    return code;
  }
}

describe("a WebSocket", () => {
  test("gets its connection id with the upgrade, and must start with initialize", async () => {
    const served = await serveAgents(home());
    const socket = await Socket.open(served);
    expect(Buffer.from(socket.connection ?? "", "base64url").length).toBeGreaterThanOrEqual(16);
    socket.send({ jsonrpc: "2.0", id: 1, method: "session/list", params: {} });
    expect(await socket.closed()).toBe(1002);
    const silent = await Socket.open(served);
    silent.send({ jsonrpc: "2.0", method: "initialize", params: {} });
    expect(await silent.closed()).toBe(1002);
  });

  test("gets the reason of an agent that fails to start, and is closed", async () => {
    const served = await serveAgents(home());
    const socket = await Socket.open(served, { query: "?agent=dying" });
    const closed = socket.closed();
    expect(await socket.ask("initialize", { protocolVersion: 1 })).toMatchObject({
      error: { message: expect.stringContaining("no licence") },
    });
    expect(await closed).toBe(1011);
  });

  test("gets an error for an invalid frame, and stays open", async () => {
    const socket = await Socket.hello(await serveAgents(home()));
    const before = socket.got.length;
    socket.send("{");
    socket.send("[]");
    socket.send("7");
    socket.webSocket.send(Buffer.from("binary"));
    socket.send({ jsonrpc: "1.0", id: 5, method: "x" });
    await expect.poll(() => socket.got.length).toBe(before + 4);
    expect(socket.got.slice(before)).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
      { id: 5, error: { code: -32600 } },
    ]);
    expect(await socket.ask("initialize", { protocolVersion: 1 })).toMatchObject({ error: { code: -32600 } });
    expect(await socket.ask("session/list")).toMatchObject({ result: { sessions: expect.any(Array) } });
  });

  test("that sends too much at once is closed with a policy violation", async () => {
    const served = await serveAgents(home(), { limits: { maxMessageBytes: 10_000 } });
    const socket = await Socket.hello(served);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "x", params: "y".repeat(20_000) }));
    expect(await socket.closed()).toBe(1009);
  });

  test("that disconnects leaves its sessions and turns running", async () => {
    const served = await serveAgents(home());
    const socket = await Socket.hello(served);
    const { result } = await socket.ask("session/new", { cwd: home().workspace, mcpServers: [] });
    const { sessionId } = Object(result);
    const prompt = promptOf(["say begun", "sleep 50", "say ended"]);
    socket.send({ jsonrpc: "2.0", id: 9, method: "session/prompt", params: { sessionId, prompt } });
    await expect.poll(() => JSON.stringify(socket.got)).toContain("begun");
    socket.webSocket.terminate();
    const later = await Socket.hello(served);
    await expect
      .poll(async () => {
        await later.ask("session/load", { sessionId, cwd: home().workspace, mcpServers: [] });
        return JSON.stringify(later.got);
      })
      .toContain("ended");
  });

  test("that stops reading does not block others and is dropped; the log keeps what it missed", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock, limits: { maxBufferedBytes: 64 * 1024 } });
    const [slow, fast] = [await Socket.hello(served), await Socket.hello(served)];
    const { result } = await fast.ask("session/new", { cwd: home().workspace, mcpServers: [] });
    const { sessionId } = Object(result);
    await slow.ask("session/resume", { sessionId, cwd: home().workspace });
    slow.webSocket.pause();
    // More than the buffers of all connections on the way hold, of a node that passes it on, too.
    const updates = 60_000;
    const prompt = promptOf([`burst ${updates}`]);
    expect(await fast.ask("session/prompt", { sessionId, prompt })).toMatchObject({
      result: { stopReason: "end_turn" },
    });
    expect(fast.got.filter(({ method }) => method === "session/update")).toHaveLength(updates);
    const closed = once(slow.webSocket, "close");
    for (let n = 0; n < 4; n += 1) {
      clock.advance(15_000);
      await served.ask("GET", "/v1/health");
    }
    slow.webSocket.resume();
    await closed;
    expect(slow.got.length).toBeLessThan(updates);
  });

  test("with too many queued frames is closed, even if they are empty", async () => {
    const served = await serveAgents(home(), { limits: { maxMessageBytes: 10_000 } });
    const socket = await Socket.open(served);
    const closed = socket.closed();
    socket.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } });
    for (let n = 0; n < 200; n += 1) socket.send("");
    expect(await closed).toBe(1008);
  });

  test("is closed when its token is revoked, and when Reins stops", async () => {
    const clock = new ManualClock();
    const served = await serveAgents(home(), { clock });
    const { secret, id } = await served.person();
    const socket = await Socket.open(served, { headers: { authorization: `Bearer ${secret}` } });
    await socket.ask("initialize", { protocolVersion: 1 });
    await served.harness.identity.revokeToken(id);
    const closed = socket.closed();
    clock.advance(15_000);
    expect(await closed).toBe(1008);
    const other = await Socket.hello(served);
    const ending = other.closed();
    await served.gateway.close();
    expect(await ending).toBe(1001);
  });

  test("rejects pages of other origins and unauthenticated clients", async () => {
    const served = await serveAgents(home());
    const refused = async (headers: Record<string, string>) => {
      const url = `${served.address.replace("http", "ws")}/acp`;
      const webSocket = new WebSocket(url, { headers });
      webSocket.on("error", () => undefined);
      const [, response] = await once(webSocket, "unexpected-response");
      return [response.statusCode, response.headers["content-type"]];
    };
    const authorization = `Bearer ${served.access.token}`;
    expect(await refused({ authorization, origin: "https://evil.example" })).toEqual([
      403,
      "application/problem+json",
    ]);
    expect(await refused({ authorization, host: "evil.example" })).toEqual([403, "application/problem+json"]);
    expect(await refused({})).toEqual([401, "application/problem+json"]);
    const { address } = served;
    const headers = { authorization, origin: address };
    const own = new WebSocket(`${address.replace("http", "ws")}/acp`, { headers });
    await once(own, "open");
    own.close();
  });
});

test.each([1, 2, 3])(
  "a message that is too large closes the connection with code 1009 and a reason (%i)",
  async () => {
    const { address, access } = await serveAgents(home());
    const headers = { authorization: `Bearer ${access.token}` };
    const socket = new WebSocket(`${address.replace("http", "ws")}/acp?agent=stub`, { headers });
    socket.on("error", () => undefined);
    await once(socket, "open");
    socket.send(
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { x: "y".repeat(20 << 20) } }),
    );
    const [code] = await once(socket, "close");
    expect(code).toBe(1009);
  },
);
