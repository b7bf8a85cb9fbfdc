import { once } from "node:events";
import { stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { AhpClient } from "../src/client/client.ts";
import type { Handlers } from "../src/server/handlers.ts";
import { AhpServer } from "../src/server/server.ts";
import { knownTokens } from "../src/transport/auth.ts";
import { type HttpOptions, serveHttp } from "../src/transport/http/serve.ts";
import type { Limits } from "../src/transport/limits.ts";
import type { Transport } from "../src/transport/open.ts";
import { serveUnix } from "../src/transport/unix.ts";
import { vectorHandlers } from "../test/vectors.ts";
import { type RawStream, rawStdio, rawUnix, rawWebSocket } from "./fixtures/raw.ts";
import { temporaryFolder } from "./fixtures/temporary.ts";

const harness = fileURLToPath(new URL("./fixtures/stdio-harness.ts", import.meta.url));

async function unixServer(limits: Partial<Limits> = {}, handlers: Handlers = vectorHandlers()) {
  const path = join(await temporaryFolder(), "ahp.sock");
  const served = await serveUnix(new AhpServer(handlers), { path, limits });
  onTestFinished(() => served.close());
  return { path, served };
}

async function webSocketServer(options: HttpOptions = {}, handlers: Handlers = vectorHandlers()) {
  const served = await serveHttp(new AhpServer(handlers), options);
  onTestFinished(() => served.close());
  return { url: served.address.replace("http", "ws"), served };
}

const event = (id: string, payload: unknown = {}) =>
  `${JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "ahp/event",
    params: { event_type: "pre_action", session_id: "s", agent_id: "a", timestamp: "t", depth: 0, payload },
  })}\n`;

const allowed = (id: string) => ({ jsonrpc: "2.0", id, result: { decision: "allow" } });

describe.each<[string, (limits?: Partial<Limits>) => Promise<RawStream>]>([
  ["stdio", async () => rawStdio()],
  ["a Unix socket", async (limits) => rawUnix((await unixServer(limits)).path)],
  ["WebSocket", async (limits) => rawWebSocket((await webSocketServer(limits && { limits })).url)],
])("over %s", (name, open) => {
  test("invalid messages get an error, and the next valid one its answer", async () => {
    const stream = await open();
    const deep = "[".repeat(128) + "]".repeat(128);
    const duplicate = '{"jsonrpc":"2.0","id":"d","method":"ahp/event","params":{"a":1,"a":2}}';
    for (const bad of ["not json", "null", "[]", deep, duplicate, '{"jsonrpc":"2.0","id":"x"}']) {
      stream.send(`${bad}\n`);
      expect(JSON.parse(await stream.next()).error.code).toBeLessThanOrEqual(-32600);
    }
    stream.send(event("good"));
    expect(JSON.parse(await stream.next())).toEqual(allowed("good"));
    await stream.close();
  });

  test("invalid UTF-8 fails only its message", async () => {
    if (name === "WebSocket") return; // a text frame that is not UTF-8 is a protocol error that closes; see below
    const stream = await open();
    stream.send(Buffer.concat([Buffer.from('"'), Buffer.from("é").subarray(0, 1), Buffer.from('"\n')]));
    expect(JSON.parse(await stream.next())).toMatchObject({
      id: null,
      error: { data: { fault: "invalid_utf8" } },
    });
    stream.send(event("good"));
    expect(JSON.parse(await stream.next())).toEqual(allowed("good"));
    await stream.close();
  });

  test("requests in flight are answered before the end", async () => {
    const stream = await open();
    for (let index = 0; index < 50; index += 1) stream.send(event(`${index}`));
    const ids = new Set<string>();
    for (let index = 0; index < 50; index += 1) ids.add(JSON.parse(await stream.next()).id);
    expect(ids.size).toBe(50);
    await stream.close();
  });
});

describe("stdio", () => {
  test("a last line needs no newline, and the end of input ends the harness", async () => {
    const stream = rawStdio();
    stream.send(event("last").trimEnd());
    stream.child.stdin?.end();
    expect(JSON.parse(await stream.next())).toEqual(allowed("last"));
    await stream.ended;
    expect(stream.child.exitCode).toBe(0);
  });

  test("a client starts its harness, separates its stderr and stops it when it closes", async () => {
    const program = `process.stderr.write("a log line"); console.log("a stray print"); await import(${JSON.stringify(harness)});`;
    const logged: Buffer[] = [];
    const client = await AhpClient.connect({
      type: "stdio",
      program: process.execPath,
      args: ["--input-type=module", "-e", program],
      onStderr: (chunk) => logged.push(chunk),
    });
    await client.handshake(["pre_action"]);
    expect(await client.sendEvent("pre_action", {})).toEqual({ decision: "allow" });
    await client.close();
    expect(Buffer.concat(logged).toString()).toContain("a log line");
  });

  test("a missing program is an error at once", async () => {
    await expect(AhpClient.connect({ type: "stdio", program: "/no/such/program" })).rejects.toThrow(
      "Transport error: Failed to spawn process: ",
    );
  });

  test("a harness that dies blocks pending events and is restarted", async () => {
    const dies = `
      import { createInterface } from "node:readline";
      for await (const line of createInterface({ input: process.stdin })) {
        const { id, method } = JSON.parse(line);
        if (method !== "ahp/handshake") process.exit(1);
        console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { protocol_version: "2.4", harness_info: { name: "h", version: "1", capabilities: [] } } }));
      }`;
    const client = await AhpClient.connect(
      { type: "stdio", program: process.execPath, args: ["--input-type=module", "-e", dies] },
      { reconnect: { firstMs: 1 } },
    );
    await client.handshake([]);
    for (let round = 0; round < 2; round += 1) {
      const decision = await client.sendEvent("pre_action", {}, { timeoutMs: 60_000 });
      expect(decision).toEqual({ decision: "block", reason: "Connection closed" });
    }
    await client.close();
  });

  test("a harness that does not exit is killed with its children", async () => {
    const stubborn = `
      import { spawn } from "node:child_process";
      process.on("SIGTERM", () => {});
      const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log(process.pid)"], { stdio: ["ignore", 2, "ignore"] });
      setInterval(() => {}, 1000);`;
    const pid = Promise.withResolvers<number>();
    const client = await AhpClient.connect(
      {
        type: "stdio",
        program: process.execPath,
        args: ["--input-type=module", "-e", stubborn],
        onStderr: (chunk) => pid.resolve(Number(chunk.toString())),
      },
      { reconnect: false },
    );
    const grandchild = await pid.promise;
    await client.close();
    await expect.poll(() => isAlive(grandchild)).toBe(false);
  });
});

describe("a Unix socket", () => {
  test("is accessible only to its owner, and removed when closed", async () => {
    const { path, served } = await unixServer();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await served.close();
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  test("replaces the socket of a dead server, not that of a live one or a file", async () => {
    const folder = await temporaryFolder();
    const stale = join(folder, "stale.sock");
    const leaving = createServer().listen(stale);
    await once(leaving, "listening");
    const program = `require("node:net").createServer().listen(${JSON.stringify(join(folder, "dead.sock"))}, () => process.kill(process.pid, "SIGKILL"))`;
    const { spawn } = await import("node:child_process");
    await once(spawn(process.execPath, ["-e", program]), "exit");
    const server = new AhpServer(vectorHandlers());
    await expect(serveUnix(server, { path: stale })).rejects.toThrow("another server listens there");
    leaving.close();
    const served = await serveUnix(server, { path: join(folder, "dead.sock") });
    await served.close();
    const file = join(folder, "file");
    await writeFile(file, "precious");
    await expect(serveUnix(server, { path: file })).rejects.toThrow("a file that is no socket is there");
  });

  test("a line beyond the limit gets an error, and the next one is read", async () => {
    const { path } = await unixServer({ maxMessageBytes: 1_000 });
    const stream = await rawUnix(path);
    stream.send(`${"x".repeat(100_000)}\n`);
    expect(JSON.parse(await stream.next())).toMatchObject({
      error: { data: { fault: "too_large", limit: 1_000 } },
    });
    stream.send(event("good"));
    expect(JSON.parse(await stream.next())).toEqual(allowed("good"));
    await stream.close();
  });

  test("a peer that stops sending still gets its answers", async () => {
    const { path } = await unixServer();
    const stream = await rawUnix(path);
    stream.socket.end(event("last"));
    expect(JSON.parse(await stream.next())).toEqual(allowed("last"));
    await stream.ended;
  });

  test("connections beyond the limit are rejected", async () => {
    const { path } = await unixServer({ maxConnections: 1 });
    const first = await rawUnix(path);
    first.send(event("1"));
    await first.next();
    const second = await rawUnix(path);
    await second.ended;
    await first.close();
  });

  test("a missing server is an error that names the address", async () => {
    const path = join(await temporaryFolder(), "none.sock");
    await expect(AhpClient.connect({ type: "unix", path })).rejects.toThrow(
      `Transport error: Failed to connect to ${path}`,
    );
  });
});

describe("WebSocket", () => {
  const authenticate = knownTokens([{ principal: "ann", secret: "a b&c" }]);

  test.each(["header", "subprotocol", "query"] as const)(
    "a credential in a %s is accepted",
    async (credentialIn) => {
      const { url } = await webSocketServer({ authenticate });
      const auth = { method: { type: "bearer", token: "a b&c" } } as const;
      const client = await AhpClient.connect({ type: "websocket", url, auth, credentialIn });
      await client.handshake([]);
      expect(await client.sendEvent("pre_action", {})).toEqual({ decision: "allow" });
      await client.close();
    },
  );

  test("a wrong token, another origin and another path are rejected", async () => {
    const { url } = await webSocketServer({ authenticate, credentialsInQuery: false });
    const refusal = async (address: string, headers: Record<string, string> = {}) => {
      const webSocket = new WebSocket(address, { headers });
      const [error] = await once(webSocket, "error");
      return String(error);
    };
    expect(await refusal(url)).toContain("401");
    expect(await refusal(url, { authorization: "Bearer nope" })).toContain("401");
    expect(await refusal(`${url}?token=a+b%26c`)).toContain("401");
    expect(await refusal(url, { origin: "https://evil.example", authorization: "Bearer a b&c" })).toContain(
      "403",
    );
    expect(await refusal(`${url}/more`, { authorization: "Bearer a b&c" })).toContain("404");
  });

  test("binary messages are ignored", async () => {
    const { url } = await webSocketServer();
    const stream = await rawWebSocket(url);
    stream.send(Buffer.from(event("binary")));
    stream.send(event("text"));
    expect(JSON.parse(await stream.next())).toEqual(allowed("text"));
    await stream.close();
  });

  test("a message beyond the limit and invalid UTF-8 close with their close codes", async () => {
    const { url } = await webSocketServer({ limits: { maxMessageBytes: 1_000 } });
    for (const [data, code] of [
      [Buffer.alloc(2_000, 0x20), 1009],
      [Buffer.from([0xc3]), 1007],
    ] as const) {
      const webSocket = new WebSocket(url);
      await once(webSocket, "open");
      webSocket.send(data, { binary: false });
      const [closed] = await once(webSocket, "close");
      expect(closed).toBe(code);
    }
  });

  test("a peer that answers no ping is disconnected", async () => {
    const { url } = await webSocketServer({ keepAliveMs: 50 });
    const dead = new WebSocket(url, { autoPong: false });
    const [code] = await once(dead, "close");
    expect(code).toBe(1006);
  });

  test("closing sends a close code", async () => {
    const { url, served } = await webSocketServer();
    const webSocket = new WebSocket(url);
    await once(webSocket, "open");
    const closed = once(webSocket, "close");
    await served.close();
    expect((await closed)[0]).toBe(1001);
  });
});

describe("a slow handler", () => {
  test("delays no request on the same connection or on another", async () => {
    const slow = Promise.withResolvers<{ decision: "allow" }>();
    const handlers: Handlers = {
      event: ({ payload }) => (payload === "slow" ? slow.promise : { decision: "allow" }),
    };
    const { path } = await unixServer({}, handlers);
    const { url } = await webSocketServer({}, handlers);
    for (const open of [() => rawUnix(path), () => rawWebSocket(url)]) {
      const [same, other] = [await open(), await open()];
      same.send(event("slow", "slow"));
      same.send(event("fast"));
      other.send(event("other"));
      expect(JSON.parse(await same.next())).toEqual(allowed("fast"));
      expect(JSON.parse(await other.next())).toEqual(allowed("other"));
      await other.close();
    }
    slow.resolve({ decision: "allow" });
  });
});

describe("a client that never reads", () => {
  test("is disconnected after a bounded buffer, without effect on others", async () => {
    const handlers: Handlers = {
      event: ({ payload }) => ({ decision: "allow", metadata: { echo: payload } }),
    };
    const { path } = await unixServer({ maxBufferedBytes: 100_000, stallMs: 100 }, handlers);
    const deaf = await rawUnix(path);
    deaf.socket.pause();
    const big = "x".repeat(50_000);
    const pump = () => {
      while (!deaf.socket.destroyed && deaf.socket.write(event("big", big)));
    };
    deaf.socket.on("drain", pump);
    pump();
    const fine = await rawUnix(path);
    fine.send(event("fine"));
    expect(JSON.parse(await fine.next()).id).toBe("fine");
    await deaf.ended;
    fine.send(event("still"));
    expect(JSON.parse(await fine.next()).id).toBe("still");
    await fine.close();
  });
});

describe("a server that restarts", () => {
  test.each(["unix", "websocket"] as const)(
    "over %s: the client reconnects and repeats the handshake",
    async (type) => {
      const folder = await temporaryFolder();
      const handshakes: string[] = [];
      const start = async (port: number) => {
        const server = new AhpServer(
          {
            event: (_, { session }) =>
              session ? { decision: "allow" } : { decision: "block", reason: "who?" },
          },
          { requireHandshake: true, newToken: () => `token-${handshakes.push("hello")}` },
        );
        if (type === "unix") return { served: await serveUnix(server, { path: join(folder, "s") }), port };
        const served = await serveHttp(server, { port });
        return { served, port: Number(new URL(served.address).port) };
      };
      const first = await start(0);
      const transport: Transport =
        type === "unix"
          ? { type, path: join(folder, "s") }
          : { type, url: `ws://127.0.0.1:${first.port}/ahp` };
      const client = await AhpClient.connect(transport, { reconnect: { firstMs: 1 }, timeoutMs: 60_000 });
      await client.handshake([]);
      expect(await client.sendEvent("pre_action", {})).toEqual({ decision: "allow" });
      await first.served.close();
      const second = await start(first.port);
      expect(await client.sendEvent("pre_action", {})).toEqual({ decision: "allow" });
      expect(handshakes).toHaveLength(2);
      await client.close();
      await second.served.close();
    },
  );
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
