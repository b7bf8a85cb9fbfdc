import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ManualClock, settled } from "./manual-clock.ts";
import { SseWriter } from "./sse-writer.ts";

const LIMITS = { keepAliveMs: 1_000, maxBufferedBytes: 1_000, stallMs: 5_000 };

/** Opens a stream over a real connection, to a reader that does not read yet. */
async function open(clock = new ManualClock()) {
  const opened = Promise.withResolvers<ServerResponse>();
  const server = createServer((_, response) => opened.resolve(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const request = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  request.on("error", () => {});
  const answered = new Promise<IncomingMessage>((resolve) => request.once("response", resolve));
  const response = await opened.promise;
  const writer = new SseWriter(response, clock, LIMITS, { "x-test": "yes" });
  const reader = await answered;
  reader.on("error", () => {});
  return { clock, response, writer, reader };
}

test("sends what is pushed in one tick together, and ends after it", async () => {
  const { writer, reader } = await open();
  expect([reader.headers["content-type"], reader.headers["x-test"]]).toEqual(["text/event-stream", "yes"]);
  writer.push("data: 1\n\n");
  writer.push("data: 2\n\n");
  await writer.send("data: 3\n\n");
  writer.end();
  const text = (await Array.fromAsync(reader)).join("");
  expect(text).toBe("data: 1\n\ndata: 2\n\ndata: 3\n\n");
  expect([writer.closed.aborted, await writer.send("late"), writer.push("late")]).toEqual([
    true,
    false,
    undefined,
  ]);
});

test("sends keep-alives while nothing else is sent, and calls its listener", async () => {
  const { clock, writer, reader } = await open();
  let calls = 0;
  writer.onKeepAlive(() => {
    calls += 1;
  });
  clock.advance(1_000);
  expect(String((await reader[Symbol.asyncIterator]().next()).value)).toBe(": alive\n\n");
  expect(calls).toBe(1);
});

test("makes a writer wait for a reader that does not read, and drops the reader after a while", async () => {
  const { clock, response, writer } = await open();
  let waiting = writer.push("x".repeat(64 << 20));
  waiting ??= writer.push("x".repeat(64 << 20));
  expect(waiting).toBeInstanceOf(Promise);
  for (let second = 0; second < 12 && !response.destroyed; second += 1) {
    clock.advance(1_000);
    await settled();
  }
  await waiting;
  expect([response.destroyed, await writer.send("late")]).toEqual([true, false]);
});

test("is closed from the start where the reader has gone", async () => {
  const { response, clock } = await open();
  response.destroy();
  await expect.poll(() => response.closed).toBe(true);
  expect(new SseWriter(response, clock, LIMITS, {}).closed.aborted).toBe(true);
});
