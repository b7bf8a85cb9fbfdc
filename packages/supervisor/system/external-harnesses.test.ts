import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { AhpServer, mountHttp, serveHttp } from "@reins/ahp";
import type { ExternalHarness } from "@reins/policy";
import { expect, onTestFinished, test } from "vitest";
import { Harnesses } from "../src/decision/harnesses.ts";
import { eventually } from "./fixtures/eventually.ts";
import { toolEvent } from "./fixtures/supervised.ts";

function newHarnesses(): Harnesses {
  const harnesses = new Harnesses();
  onTestFinished(() => harnesses.close());
  return harnesses;
}

/** A harness that blocks with a reason by which it is known. */
async function blocking(reason: string): Promise<string> {
  const served = await serveHttp(new AhpServer({ event: async () => ({ decision: "block", reason }) }));
  onTestFinished(() => served.close());
  return served.address;
}

/** A harness over WebSocket that greets and answers nothing, with the connections that it holds. */
async function silent() {
  const mount = mountHttp(new AhpServer({ event: () => new Promise(() => {}) }), {
    allowedHosts: ["127.0.0.1"],
  });
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer();
  server.on("upgrade", (request, socket: Socket, head) => {
    connections += 1;
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    void mount.upgrade(request, socket, head);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `ws://127.0.0.1:${port}/ahp`, open, connections: () => connections };
}

const named = (name: string, url: string, timeout = "5s"): ExternalHarness => ({
  name,
  url,
  timeout,
  fail: "closed",
});

test("two constitutions may call different harnesses by one name, and each is asked its own", async () => {
  const harnesses = newHarnesses();
  const [acme, globex] = [await blocking("acme"), await blocking("globex")];
  const [first] = await harnesses.ask([named("company", acme)], toolEvent("ls"));
  const [second] = await harnesses.ask([named("company", globex)], toolEvent("ls"));
  expect(first?.reason).toBe('the harness "company" blocks it: acme');
  expect(second?.reason).toBe('the harness "company" blocks it: globex');
});

test("a harness that fails again and again holds no connection", async () => {
  const harnesses = newHarnesses();
  const { url, open, connections } = await silent();
  for (let time = 0; time < 3; time += 1) {
    const [answer] = await harnesses.ask([named("mute", url, "100ms")], toolEvent("ls"));
    expect(answer).toMatchObject({ verdict: "blocked" });
  }
  expect(connections()).toBe(3);
  await eventually(() => expect(open.size).toBe(0));
});
