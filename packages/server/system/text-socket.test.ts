import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { ManualClock } from "@reins/kit/manual-clock";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { settleLimits } from "../src/limits.ts";
import { TextSocket } from "../src/streams/web-socket.ts";

/** Both ends of a WebSocket, the server's under a clock of the test's own. */
async function bothEnds(
  more: { turn?: () => Promise<void> | undefined; text?: (text: string) => void } = {},
) {
  const clock = new ManualClock();
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const upgraded = once(server, "connection");
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  onTestFinished(() => client.terminate());
  const [webSocket, { socket: line }] = await upgraded;
  onTestFinished(() => webSocket.terminate());
  const handlers = {
    text: async (text: string) => more.text?.(text),
    binary: () => undefined,
    mayStay: async () => true,
  };
  const own = new TextSocket(webSocket, { clock, limits: settleLimits(), line, turn: more.turn }, handlers);
  await once(client, "open");
  const beat = async () => {
    const pong = once(webSocket, "pong");
    clock.advance(15_000);
    await pong;
  };
  return { clock, client, webSocket, own, beat };
}

test("a reader is not dropped right after a long time without data", async () => {
  const { clock, client, webSocket, own, beat } = await bothEnds();
  for (let n = 0; n < 3; n += 1) await beat();
  const text = "x".repeat(32 * 1024 * 1024);
  client.pause();
  void own.send(text);
  await setImmediate();
  await setImmediate();
  expect(webSocket.bufferedAmount).toBeGreaterThan(0);
  clock.advance(15_000);
  const got = once(client, "message");
  client.resume();
  expect(String((await got)[0]) === text).toBe(true);
});

test("a reader that takes no data is dropped", async () => {
  const { clock, client, own, beat } = await bothEnds();
  await beat();
  client.pause();
  void own.send("x".repeat(32 * 1024 * 1024));
  await setImmediate();
  const closed = once(client, "close");
  for (let n = 0; n < 4; n += 1) clock.advance(15_000);
  client.resume();
  await closed;
  expect(own.isOver).toBe(true);
});

test("texts wait for their turn in their order, and their sender stays meanwhile", async () => {
  const turns = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const got: string[] = [];
  let count = 0;
  const { clock, client, own } = await bothEnds({
    text: (text) => got.push(text),
    turn: () => {
      count += 1;
      return count > 1 ? turns[count - 2]?.promise : undefined;
    },
  });
  for (const text of ["one", "two", "three"]) client.send(text);
  await expect.poll(() => count).toBe(2);
  expect(got).toEqual(["one"]);
  for (let n = 0; n < 4; n += 1) {
    clock.advance(15_000);
    await setImmediate();
  }
  expect(own.isOver).toBe(false);
  turns[0]?.resolve();
  await expect.poll(() => got).toEqual(["one", "two"]);
  turns[1]?.resolve();
  await expect.poll(() => got).toEqual(["one", "two", "three"]);
});

test("a sender whose turn does not come is closed", async () => {
  const { client } = await bothEnds({ turn: () => Promise.reject(new Error("too many")) });
  client.send("one");
  const [code] = await once(client, "close");
  expect(code).toBe(1011);
});
