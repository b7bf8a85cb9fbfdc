import { existsSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { AhpClient } from "@reins/ahp";
import { describe, expect, onTestFinished, test } from "vitest";
import type { GatewayLimits } from "../src/index.ts";
import { ask, begin } from "./fixtures/ask.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();

describe("closing the gateway", () => {
  /** A gateway whose harness opens on demand, with a promise of the first waiting request. */
  async function waiting(limits: Partial<GatewayLimits> = {}) {
    const opening = Promise.withResolvers<ReturnType<typeof harness>>();
    const asked = { times: 0 };
    const open = () => {
      asked.times += 1;
      return opening.promise;
    };
    const served = await Served.open(harness(), { harness: open, limits });
    const arrived = () => expect.poll(() => asked.times).toBe(1);
    return { served, arrived, open: () => opening.resolve(harness()) };
  }

  test("finishes running requests, and accepts no new ones", async () => {
    const { served, arrived, open } = await waiting();
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const answer = served.ask("GET", "/v1/approvals?session=none", { agent });
    await arrived();
    const closing = served.gateway.close();
    await expect(ask(served.address, "GET", "/v1/health")).rejects.toThrow("ECONNREFUSED");
    open();
    expect((await answer).status).toBe(200);
    await closing;
    await served.gateway.close();
  });

  test("does not wait longer than its drain timeout", async () => {
    const { served, arrived } = await waiting({ drainMs: 50 });
    const answer = served.ask("GET", "/v1/approvals").catch((error: unknown) => error);
    await arrived();
    await served.gateway.close();
    expect(await answer).toBeInstanceOf(Error);
  });

  test("closes WebSockets with the last listener", async () => {
    const served = await Served.open(harness(), { limits: { drainMs: 60_000 } });
    const socketPath = join(harness().home, "closing.sock");
    const socket = await served.gateway.listenSocket(socketPath);
    const port = await served.gateway.listen({ host: "127.0.0.1", port: 0 });
    const auth = { method: { type: "bearer", token: served.access.token } } as const;
    const url = `${port.address.replace("http", "ws")}/ahp`;
    const client = await AhpClient.connect({ type: "websocket", url, auth }, { reconnect: false });
    onTestFinished(() => client.close());
    await client.handshake([]);
    await Promise.all([socket.close(), port.close(), served.gateway.close()]);
    await Promise.all([socket.closed, port.closed]);
    expect(existsSync(socketPath)).toBe(false);
  });

  test("on one port leaves the other listeners open", async () => {
    const served = await Served.open(harness());
    const other = await served.gateway.listen({ host: "127.0.0.1", port: 0 });
    await other.close();
    await other.closed;
    expect((await ask(served.address, "GET", "/v1/health")).status).toBe(200);
    await expect(ask(other.address, "GET", "/v1/health")).rejects.toThrow("ECONNREFUSED");
  });
});

describe("a listener", () => {
  test("reports why it cannot listen", async () => {
    const served = await Served.open(harness());
    const { port } = new URL(served.address);
    const taken = served.gateway.listen({ host: "127.0.0.1", port: Number(port) });
    await expect(taken).rejects.toMatchObject({
      message: expect.stringContaining("something else listens there"),
      cause: { code: "EADDRINUSE" },
    });
    const socketPath = join(harness().home, "taken.sock");
    await served.gateway.listenSocket(socketPath);
    await expect(served.gateway.listenSocket(socketPath)).rejects.toThrow("another server listens there");
  });

  test("keeps a connection alive for the next request", async () => {
    const served = await Served.open(harness());
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const ports = new Set<number | undefined>();
    for (const path of ["/v1/health", "/v1/nowhere", "/v1/health"]) {
      const { response } = await begin(served.address, "GET", path, { agent });
      ports.add(response.socket.localPort);
      for await (const _ of response);
    }
    expect(ports.size).toBe(1);
  });

  test("accepts no connections beyond its limit", async () => {
    const served = await Served.open(harness(), { limits: { maxConnections: 2 } });
    const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
    onTestFinished(() => agents.forEach((agent) => void agent.destroy()));
    for (const agent of agents) await ask(served.address, "GET", "/v1/health", { agent });
    await expect(ask(served.address, "GET", "/v1/health")).rejects.toThrow();
  });
});
