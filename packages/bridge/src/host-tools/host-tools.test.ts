import type { JsonObject } from "@reins/acp";
import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { BridgeCallError, type BridgePort } from "../wire/bridge-port.ts";
import { HostTools, hostToolDescription, hostToolText } from "./host-tools.ts";

const { signal } = new AbortController();

/** The tools of a host that answers as given, and what it was asked. */
function toolsOf(answer: (method: string, params: JsonObject) => unknown) {
  const asked: unknown[] = [];
  const listeners = new Map<string, () => void>();
  const bridge: BridgePort = {
    call: async (sessionId, method, params) => {
      asked.push([sessionId, method, params]);
      return answer(method, params);
    },
    subscribe: (sessionId, method, listener) => {
      listeners.set(`${sessionId} ${method}`, () => listener({}));
      return () => void listeners.delete(`${sessionId} ${method}`);
    },
  };
  const clock = new ManualClock();
  const changed = (sessionId: string) => listeners.get(`${sessionId} host/tools/update`)?.();
  return { tools: new HostTools(bridge, clock), asked, clock, changed, listeners };
}

const fails = (error: Error) => () => {
  throw error;
};

test("a list is asked for once, until the host says that it changed or a minute is over", async () => {
  const { tools, asked, clock, changed } = toolsOf(() => [{ name: "a" }]);
  const names = async () => (await tools.hostToolList("s", signal)).tools.map(({ name }) => name);
  expect([await names(), await names()]).toEqual([["a"], ["a"]]);
  expect(asked).toEqual([["s", "host/tools/list", {}]]);
  changed("s");
  await names();
  expect(asked).toHaveLength(2);
  clock.advance(60_001);
  await names();
  expect(asked).toHaveLength(3);
});

test("a session whose host offers no tools is not asked, until it has one that does", async () => {
  const asked: string[] = [];
  const offering = new Set<string>();
  const tools = new HostTools({
    call: async (sessionId) => {
      asked.push(sessionId);
      return [{ name: "a" }];
    },
    offers: (sessionId) => offering.has(sessionId),
    subscribe: () => () => undefined,
  });
  const names = async () => (await tools.hostToolList("s", signal)).tools.map(({ name }) => name);
  expect([await names(), asked]).toEqual([[], []]);
  offering.add("s");
  expect([await names(), asked]).toEqual([["a"], ["s"]]);
});

test("each session has the tools of its own host", async () => {
  const { tools, asked, changed } = toolsOf(() => []);
  await tools.hostToolList("one", signal);
  await tools.hostToolList("two", signal);
  changed("one");
  await tools.hostToolList("two", signal);
  expect(asked).toHaveLength(2);
});

test("a host that fails lends nothing, with a warning, and is not asked again at once", async () => {
  const { tools, asked, clock } = toolsOf(fails(new BridgeCallError("timeout", "too slow")));
  expect(await tools.hostToolList("s", signal)).toEqual({ tools: [], warnings: ["too slow"] });
  await tools.hostToolList("s", signal);
  expect(asked).toHaveLength(1);
  clock.advance(30_001);
  await tools.hostToolList("s", signal);
  expect(asked).toHaveLength(2);
});

test("a reply without a list is a warning, too", async () => {
  const { tools } = toolsOf(() => ({ tools: "all" }));
  const { warnings } = await tools.hostToolList("s", signal);
  expect(warnings).toEqual(["the reply to host/tools/list has no list of tools"]);
});

test("without a host there are no tools and no warnings, and one that comes later is found", async () => {
  let isThere = false;
  const { tools } = toolsOf(() => {
    if (!isThere) throw new BridgeCallError("no_host", "no client offers it");
    return [{ name: "a" }];
  });
  expect(await tools.hostToolList("s", signal)).toEqual({ tools: [], warnings: [] });
  isThere = true;
  expect((await tools.hostToolList("s", signal)).tools).toHaveLength(1);
});

test("a call has its payload as the only argument, and returns the result as it is", async () => {
  const { tools, asked } = toolsOf(() => ({ ok: true }));
  expect(await tools.hostToolCall("deploy", { to: "x" }, { sessionId: "s", signal })).toEqual({ ok: true });
  expect(asked).toEqual([["s", "builtin_call", { name: "deploy", args: [{ to: "x" }] }]]);
});

test("a call that fails rejects", async () => {
  const { tools } = toolsOf(fails(new BridgeCallError("rejected", "not today")));
  await expect(tools.hostToolCall("deploy", {}, { sessionId: "s", signal })).rejects.toThrow("not today");
});

test("a session that ends is forgotten", async () => {
  const { tools, listeners } = toolsOf(() => []);
  await tools.hostToolList("s", signal);
  tools.forget("s");
  expect(listeners.size).toBe(0);
});

test("models read results as text, and see that a tool is deprecated", () => {
  expect([hostToolText("x"), hostToolText({ a: 1 }), hostToolText(null), hostToolText(undefined)]).toEqual([
    "x",
    '{"a":1}',
    "null",
    "(nothing)",
  ]);
  expect(hostToolText("x".repeat(2_000_000)).length).toBeLessThan(1_100_000);
  const tool = { name: "a", description: "Opens", schema: null };
  expect(hostToolDescription({ ...tool, deprecated: true })).toBe("[deprecated] Opens");
});
