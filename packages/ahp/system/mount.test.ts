import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { AhpClient } from "../src/client/client.ts";
import { AhpServer } from "../src/server/server.ts";
import { knownTokens } from "../src/transport/auth.ts";
import { type MountOptions, mountHttp } from "../src/transport/http/serve.ts";
import { rawHttp } from "./fixtures/raw.ts";

/** AHP on another HTTP server, which has authenticated every peer as "ann". */
async function mounted(options: MountOptions = {}, looked = true) {
  const admitted = looked ? { principal: "ann" } : undefined;
  const seen: (string | undefined)[] = [];
  const ahp = new AhpServer({
    event: (_, { peer }) => {
      seen.push(peer.principal);
      return { decision: "allow" };
    },
  });
  const mount = mountHttp(ahp, options);
  const owner = createServer((request, response) => void mount.handle(request, response, admitted));
  owner.on("upgrade", (request, socket, head) => void mount.upgrade(request, socket, head, admitted));
  owner.listen(0, "127.0.0.1");
  await once(owner, "listening");
  onTestFinished(async () => {
    await mount.close();
    owner.closeAllConnections();
    owner.close();
  });
  // The address is a port, because the server listens on one.
  const { port } = owner.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/ahp`, seen, mount };
}

describe("AHP mounted on another HTTP server", () => {
  test("uses the principals that its owner passes, over HTTP and WebSocket", async () => {
    const { url, seen } = await mounted({ authenticate: () => undefined });
    for (const transport of [
      { type: "http", url } as const,
      { type: "websocket", url: url.replace("http", "ws") } as const,
    ]) {
      const client = await AhpClient.connect(transport, { reconnect: false });
      await client.handshake([]);
      expect(await client.sendEvent("pre_action", {})).toMatchObject({ decision: "allow" });
      await client.close();
    }
    expect(seen).toEqual(["ann", "ann"]);
  });

  test("authenticates peers for which its owner passes no principal", async () => {
    const authenticate = knownTokens([{ principal: "bob", secret: "sesame" }]);
    const { url, seen } = await mounted({ authenticate }, false);
    expect(await rawHttp(url, "{}")).toMatchObject({ status: 401 });
    const auth = { method: { type: "bearer", token: "sesame" } } as const;
    const client = await AhpClient.connect({ type: "http", url, auth });
    onTestFinished(() => client.close());
    await client.handshake([]);
    await client.sendEvent("pre_action", {});
    expect(seen).toEqual(["bob"]);
  });

  test("rejects in the form that its owner chooses", async () => {
    const refusal = (status: number, detail: string) => ({
      type: "application/problem+json",
      body: JSON.stringify({ status, detail }),
    });
    const { url } = await mounted({ refusal });
    const answer = await rawHttp(url, "{}", { headers: { "content-type": "text/plain" } });
    expect(answer).toMatchObject({ status: 415, headers: { "content-type": "application/problem+json" } });
    expect(JSON.parse(answer.body)).toMatchObject({ status: 415 });
    const got = await rawHttp(url, "", { method: "GET" });
    expect(got).toMatchObject({ status: 405, headers: { allow: "POST" } });
  });
});
