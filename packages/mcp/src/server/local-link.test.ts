import { expect, test } from "vitest";
import type { Message } from "../message.ts";
import { type LocalServer, localLink } from "./process-link.ts";

const SERVER: LocalServer = {
  name: "local",
  tools: async () => [{ name: "echo", description: "Says it again", inputSchema: { type: "object" } }],
  call: async (name, given) => {
    if (name === "fail") throw new Error("it broke");
    return JSON.stringify(given);
  },
};

async function open(server: LocalServer = SERVER) {
  const got: Message[] = [];
  let closed = 0;
  const link = await localLink(server)(
    {
      message: (message) => void got.push(message),
      skipped: () => undefined,
      lost: () => undefined,
      closed: () => {
        closed += 1;
      },
    },
    new AbortController().signal,
  );
  const ask = async (method: string, params: Message = {}) => {
    link.send({ jsonrpc: "2.0", id: got.length + 1, method, params });
    const before = got.length;
    await expect.poll(() => got.length).toBe(before + 1);
    return got.at(-1);
  };
  return { link, ask, got, closed: () => closed };
}

test("answers what an agent asks of a server with tools", async () => {
  const { ask } = await open();
  expect(await ask("initialize", { protocolVersion: "2025-03-26" })).toMatchObject({
    result: { protocolVersion: "2025-03-26", capabilities: { tools: {} }, serverInfo: { name: "local" } },
  });
  expect(await ask("ping")).toMatchObject({ result: {} });
  expect(await ask("tools/list")).toMatchObject({ result: { tools: [{ name: "echo" }] } });
  expect(await ask("tools/call", { name: "echo", arguments: { a: 1 } })).toMatchObject({
    result: { content: [{ type: "text", text: '{"a":1}' }] },
  });
  expect(await ask("resources/list")).toMatchObject({ error: { code: -32601 } });
});

test("announces that its tools have changed, until it is closed", async () => {
  const listeners = new Set<() => void>();
  const { link, ask, got } = await open({
    ...SERVER,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  expect(await ask("initialize")).toMatchObject({
    result: { capabilities: { tools: { listChanged: true } } },
  });
  for (const listener of listeners) listener();
  expect(got.at(-1)).toEqual({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
  await link.close();
  expect(listeners.size).toBe(0);
});

test("shows the model why a call failed", async () => {
  const { ask } = await open();
  expect(await ask("tools/call", { name: "fail" })).toMatchObject({
    result: { content: [{ text: "it broke" }], isError: true },
  });
});

test("fails a request whose server fails, and lives on", async () => {
  const { ask } = await open({ ...SERVER, tools: () => Promise.reject(new Error("no host")) });
  expect(await ask("tools/list")).toMatchObject({ error: { message: "no host" } });
  expect(await ask("ping")).toMatchObject({ result: {} });
});

test("cancels a call, and all calls when it closes, which it does once", async () => {
  const aborted: unknown[] = [];
  const { link, closed } = await open({
    ...SERVER,
    call: (name, _, signal) =>
      new Promise(() => signal.addEventListener("abort", () => void aborted.push(name), { once: true })),
  });
  link.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "one" } });
  link.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "two" } });
  link.cancel(1, {});
  expect(aborted).toEqual(["one"]);
  await link.close();
  await link.close();
  expect(aborted).toEqual(["one", "two"]);
  expect(closed()).toBe(1);
});
