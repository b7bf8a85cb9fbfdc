import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { serveHaak } from "./fixtures/haak.ts";
import type { Served } from "./fixtures/home.ts";

const home = agentsForAll();

/** Messages in which an object has a member twice, spelled in different ways. */
const DUPLICATES: readonly string[] = [
  '{"jsonrpc":"2.0","id":"1","method":"initialize","method":"session/new","params":{}}',
  '{"jsonrpc":"2.0","id":"1","method":"initialize","\\u006dethod":"session/new","params":{}}',
  '{"jsonrpc":"2.0","id":"1","\\u0069d":"2","method":"initialize","params":{}}',
  '{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":1},"param\\u0073":{}}',
  '{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"a":{"b":[{"c":1,"\\u0063":2}]}}}',
  '{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"__proto__":1,"__proto__":2}}',
  `{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"a":"${"x".repeat(50_000)}","a" : 1}}`,
];

async function post(served: Served, path: string, body: string): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${served.access.token}`, "content-type": "application/json" };
  const response = await fetch(new URL(path, served.address), { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

test.each(["/v1/rpc", "/acp?agent=stub"])("%s rejects a message with a duplicate member", async (path) => {
  const served = await serveAgents(home());
  for (const body of DUPLICATES) {
    const { status, text } = await post(served, path, body);
    expect([status, text], body.slice(0, 200)).toEqual([400, expect.stringContaining("twice")]);
  }
});

test("/ahp rejects a message with a duplicate member", async () => {
  const served = await serveAgents(home());
  for (const body of DUPLICATES) {
    const { text } = await post(served, "/ahp", body);
    expect(JSON.parse(text), body.slice(0, 200)).toMatchObject({ error: { code: -32600 } });
  }
});

test("the WebSocket of /acp rejects a message with a duplicate member, and stays open", async () => {
  const served = await serveAgents(home());
  const headers = { authorization: `Bearer ${served.access.token}` };
  const socket = new WebSocket(`${served.address.replace("http", "ws")}/acp?agent=stub`, { headers });
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  for (const text of DUPLICATES) {
    socket.send(text);
    const [data] = await once(socket, "message");
    const message = expect.stringContaining("twice");
    expect(JSON.parse(String(data)), text.slice(0, 200)).toMatchObject({ error: { code: -32600, message } });
  }
});

test("/ws rejects a message with a duplicate member, and stays open", async () => {
  const { connect } = await serveHaak();
  const socket = await connect();
  for (const [index, text] of DUPLICATES.entries()) {
    socket.send(text);
    await socket.until(() => socket.frames.length > index);
    const error = { message: expect.stringContaining("twice") };
    expect(socket.frames[index], text.slice(0, 200)).toMatchObject({ id: null, error });
  }
});
