import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { AhpClient } from "../src/client/client.ts";

const HARNESS = {
  protocol_version: "2.4",
  harness_info: { name: "h", version: "1", capabilities: ["pre_action"] },
};

/** A harness that allows everything, behind whatever a test puts before it. */
async function served(before: (answer: () => void, ...given: Parameters<RequestListener>) => void) {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const { id, method } = JSON.parse(text);
    const result = method === "ahp/handshake" ? HARNESS : { decision: "allow" };
    const answer = () =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    before(answer, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ahp`;
  const client = await AhpClient.connect({ type: "http", url }, { timeoutMs: 20_000 });
  onTestFinished(() => client.close());
  await client.handshake(["pre_action"]);
  return client;
}

test("a kept-alive connection that the harness closed while idle loses no decision", async () => {
  const client = await served((answer, request, response) => {
    response.once("finish", () => setTimeout(() => request.socket.destroy(), 2));
    answer();
  });
  for (let round = 0; round < 60; round += 1) {
    expect((await client.sendEvent("pre_action", { round })).decision).toBe("allow");
    await delay(round % 4);
  }
});

test("a request to a busy harness is retried", async () => {
  let busy = 3;
  const client = await served((answer, request, response) => {
    if (request.headers["content-length"] === undefined || busy === 0 || busy === 3) {
      busy = busy === 3 ? 2 : busy;
      answer();
      return;
    }
    busy -= 1;
    response.writeHead(503, { "retry-after": "0" }).end("busy");
  });
  expect((await client.sendEvent("pre_action", {})).decision).toBe("allow");
  expect(busy).toBe(0);
});
