import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { settleLimits } from "../limits.ts";
import { NodeLink } from "./node-link.ts";

const SECRET = "a secret that is long enough to be one";
const log = Object.fromEntries(
  ["debug", "info", "warn", "error"].map((level) => [level, () => undefined]),
) as never;

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The port of a node that passes requests on to one which hangs up on them. */
async function nodeBefore(hangUp: (received: IncomingMessage) => void): Promise<number> {
  const link = new NodeLink({ secret: SECRET, log });
  onTestFinished(() => link.close());
  const owner = link.newServer(settleLimits());
  owner.on("request", hangUp);
  const address = `127.0.0.1:${await listening(owner)}`;
  const node = createServer((received, response) => {
    link.forward({ address, claim: "c" }, { request: received }, response).catch(() => response.destroy());
  });
  return listening(node);
}

function posted(port: number) {
  return request({ host: "127.0.0.1", port, method: "POST", agent: false });
}

it("says that what was asked may have happened where the other node hangs up on a whole request", async () => {
  const port = await nodeBefore((received) => received.resume().once("end", () => received.socket.destroy()));
  const client = posted(port);
  client.end("all of it");
  const [answer]: IncomingMessage[] = await once(client, "response");
  expect(answer?.statusCode).toBe(502);
  answer?.resume();
});

it("hangs up where the other node does so before it has the whole body, as that would by itself", async () => {
  const port = await nodeBefore((received) => received.once("data", () => received.socket.destroy()));
  const client = posted(port);
  const answered = once(client, "response");
  client.write("a part of it");
  await expect(answered).rejects.toMatchObject({ code: "ECONNRESET" });
});
