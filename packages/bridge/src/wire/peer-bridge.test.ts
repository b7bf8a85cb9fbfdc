import { type Channel, channelPair, type JsonObject, Peer, RpcError } from "@reins/acp";
import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import type { BridgeFault } from "./bridge-port.ts";
import { PeerBridge } from "./peer-bridge.ts";

const { signal } = new AbortController();

type Answer = (method: string, params: JsonObject, signal: AbortSignal) => Promise<unknown>;

/** A bridge to a host that answers as given. */
function bridgeTo(answer: Answer) {
  const [ours, theirs, close] = channelPair();
  const clock = new ManualClock();
  const host = new Peer(theirs, {
    request: (method, params, call) => answer(method, params, call.signal),
    notification: () => undefined,
  });
  const { bridge } = connected(ours, clock);
  return { bridge, clock, host, close };
}

function connected(channel: Channel, clock: ManualClock) {
  const peer = new Peer(channel, {
    request: async () => undefined,
    notification: (method, params) => void bridge.receive(method, params),
  });
  const bridge: PeerBridge = new PeerBridge(peer, clock);
  return { bridge };
}

const faultOf = (call: Promise<unknown>): Promise<BridgeFault> =>
  call.then(
    () => expect.unreachable(),
    (error: { code: BridgeFault }) => error.code,
  );

test("a call names its session and returns the result as received", async () => {
  const asked: unknown[] = [];
  const { bridge } = bridgeTo(async (method, params) => {
    asked.push([method, params]);
    return { tools: [] };
  });
  expect(await bridge.call("s1", "host/tools/list", {}, signal)).toEqual({ tools: [] });
  expect(asked).toEqual([["host/tools/list", { sessionId: "s1" }]]);
});

test("a client of ACP is asked only what it offers", async () => {
  const { bridge } = bridgeTo(async () => []);
  bridge.capabilities = { _meta: { reins: { bridge: { methods: ["skills/list"] } } } };
  expect(await bridge.call("s1", "skills/list", {}, signal)).toEqual([]);
  expect(await faultOf(bridge.call("s1", "host/tools/list", {}, signal))).toBe("no_host");
});

test("a session whose clients are known to offer nothing is not asked", async () => {
  const asked: string[] = [];
  const peer = { request: async (method: string) => void asked.push(method), signal };
  const bridge = new PeerBridge(peer, undefined, (sessionId) => sessionId === "s2");
  expect(await faultOf(bridge.call("s1", "skills/list", {}, signal))).toBe("no_host");
  await bridge.call("s2", "skills/list", {}, signal);
  expect(asked).toEqual(["skills/list"]);
});

test("errors of a host have codes of their own", async () => {
  const { bridge } = bridgeTo(async (method) => {
    const codes = { "host/tools/list": -32601, builtin_call: -32001, "skills/list": -32603 };
    throw new RpcError(codes[method as keyof typeof codes], "no");
  });
  expect(await faultOf(bridge.call("s1", "host/tools/list", {}, signal))).toBe("no_host");
  expect(await faultOf(bridge.call("s1", "builtin_call", {}, signal))).toBe("rejected");
  expect(await faultOf(bridge.call("s1", "skills/list", {}, signal))).toBe("failed");
});

test("each method has its own deadline, and a late call is cancelled at the host", async () => {
  const cancelled: string[] = [];
  const { bridge, clock } = bridgeTo(
    (method, _, stop) =>
      new Promise(() => stop.addEventListener("abort", () => void cancelled.push(method), { once: true })),
  );
  const match = faultOf(bridge.call("s1", "skill/match", {}, signal));
  const tool = bridge.call("s1", "builtin_call", {}, signal);
  tool.catch(() => undefined);
  await Promise.resolve();
  clock.advance(5_000);
  expect(await match).toBe("timeout");
  await expect.poll(() => cancelled).toEqual(["skill/match"]);
  clock.advance(295_000);
  expect(await faultOf(tool)).toBe("timeout");
});

test("the end of the stream fails all waiting calls at once", async () => {
  const { bridge, close } = bridgeTo(() => new Promise(() => undefined));
  const calls = [1, 2, 3].map(() => faultOf(bridge.call("s1", "skills/list", {}, signal)));
  close(new Error("gone"));
  expect(await Promise.all(calls)).toEqual(["closed", "closed", "closed"]);
});

test("a call that its caller abandons rejects with the caller's reason", async () => {
  const { bridge } = bridgeTo(() => new Promise(() => undefined));
  const turn = new AbortController();
  const call = bridge.call("s1", "skills/list", {}, turn.signal);
  turn.abort(new Error("the turn was cancelled"));
  await expect(call).rejects.toThrow("the turn was cancelled");
});

test("notifications reach the subscribers of their session only, until they unsubscribe", async () => {
  const { bridge, host } = bridgeTo(async () => undefined);
  const heard: unknown[] = [];
  const unsubscribe = bridge.subscribe("s1", "skills/update", (params) => void heard.push(params));
  await host.notify("skills/update", { sessionId: "s2" });
  await host.notify("skills/update", { sessionId: "s1", ids: ["a"] });
  unsubscribe();
  await host.notify("skills/update", { sessionId: "s1" });
  expect(heard).toEqual([{ sessionId: "s1", ids: ["a"] }]);
});
