import { PassThrough } from "node:stream";
import { Peer } from "@reins/acp";
import { stdioChannel } from "@reins/acp/stdio";
import { expect, test } from "vitest";
import { RETIRED_METHODS } from "./bridge-port.ts";
import { type HostOffer, PeerBridge, serveHost } from "./peer-bridge.ts";

const { signal } = new AbortController();

/** An agent and a host that speak lines of JSON-RPC, as over standard input and output. */
function overLines(offer: HostOffer) {
  const [toHost, toAgent] = [new PassThrough(), new PassThrough()];
  const notified: unknown[] = [];
  const host = serveHost(stdioChannel(toHost, toAgent), offer, (method, params) => {
    notified.push([method, params]);
  });
  const lines: string[] = [];
  toHost.on("data", (chunk: Buffer) => lines.push(String(chunk)));
  const peer: Peer = new Peer(stdioChannel(toAgent, toHost), {
    request: async () => undefined,
    notification: (method, params) => void bridge.receive(method, params),
  });
  const bridge = new PeerBridge(peer);
  return { bridge, peer, host, notified, lines, toHost, toAgent };
}

test("a request and its answer are one line each", async () => {
  const { bridge, lines } = overLines({ "host/tools/list": () => ({ tools: [] }) });
  expect(await bridge.call("s", "host/tools/list", {}, signal)).toEqual({ tools: [] });
  expect(lines.join("")).toBe(
    '{"jsonrpc":"2.0","id":1,"method":"host/tools/list","params":{"sessionId":"s"}}\n',
  );
});

test("requests are answered concurrently, and notifications pass meanwhile", async () => {
  const release = Promise.withResolvers<void>();
  const { bridge, host, peer, notified } = overLines({
    builtin_call: () => release.promise.then(() => "done"),
    "skills/list": () => [],
  });
  const slow = bridge.call("s", "builtin_call", { name: "x", args: [] }, signal);
  expect(await bridge.call("s", "skills/list", {}, signal)).toEqual([]);
  const heard: unknown[] = [];
  bridge.subscribe("s", "cancel", () => void heard.push("cancel"));
  await host.notify("cancel", { sessionId: "s" });
  await peer.notify("agent/idle", { iteration: 1, backoff_ms: 100 });
  await expect
    .poll(() => [heard, notified])
    .toEqual([["cancel"], [["agent/idle", { iteration: 1, backoff_ms: 100 }]]]);
  release.resolve();
  expect(await slow).toBe("done");
});

test.each(["7", "a-text", "null"])("an id is given back as it came: %s", async (id) => {
  const { toHost, toAgent } = overLines({ "skills/list": () => [] });
  const got: string[] = [];
  toAgent.on("data", (chunk: Buffer) => got.push(String(chunk)));
  const sent = id === "7" ? 7 : id === "null" ? null : id;
  toHost.write(`${JSON.stringify({ jsonrpc: "2.0", id: sent, method: "skills/list", params: {} })}\n`);
  await expect.poll(() => got.join("")).toContain(`"id":${JSON.stringify(sent)},"result":[]`);
});

test.each(RETIRED_METHODS)("%s is not known any more", async (method) => {
  const { peer } = overLines({});
  await expect(peer.request(method, {})).rejects.toMatchObject({ code: -32601 });
});

test("the end of the stream fails what waits, at once", async () => {
  const { bridge, toAgent } = overLines({ builtin_call: () => new Promise(() => undefined) });
  const calls = [1, 2].map(() => bridge.call("s", "builtin_call", { name: "x", args: [] }, signal));
  const failed = Promise.allSettled(calls);
  await new Promise((resolve) => setImmediate(resolve));
  toAgent.destroy();
  expect(await failed).toMatchObject([
    { status: "rejected", reason: { code: "closed" } },
    { status: "rejected", reason: { code: "closed" } },
  ]);
});

test("a line that is no message, or too long, does not end the connection", async () => {
  const { bridge, toHost } = overLines({ "skills/list": () => [] });
  toHost.write("no json\n");
  toHost.write(`${"x".repeat(33 * 1024 * 1024)}\n`);
  expect(await bridge.call("s", "skills/list", {}, signal)).toEqual([]);
});

test("a call that is cancelled is cancelled at the host", async () => {
  const aborted = Promise.withResolvers<string>();
  const { bridge } = overLines({
    builtin_call: (_, stop) => {
      stop.addEventListener("abort", () => aborted.resolve("aborted"), { once: true });
      return new Promise(() => undefined);
    },
  });
  const turn = new AbortController();
  const call = bridge.call("s", "builtin_call", { name: "x", args: [] }, turn.signal);
  setImmediate(() => turn.abort(new Error("stop")));
  await expect(call).rejects.toThrow("stop");
  expect(await aborted.promise).toBe("aborted");
});
