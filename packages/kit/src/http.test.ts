import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { readLimited, readRequestBody, SseWriter } from "./http.ts";
import { ManualClock, settled } from "./manual-clock.ts";

test("readLimited returns a body up to the limit and nothing of a larger one", async () => {
  async function* chunks(...sizes: number[]) {
    for (const size of sizes) yield new Uint8Array(size);
  }
  expect(await readLimited(chunks(), 0)).toHaveLength(0);
  expect(await readLimited(chunks(4, 6), 10)).toHaveLength(10);
  expect(await readLimited(chunks(4, 6, 1), 10)).toBeUndefined();
});

function request(headers: Record<string, string> = {}): PassThrough & IncomingMessage {
  return Object.assign(new PassThrough(), { headers }) as never;
}

test("readRequestBody reads a body that fits", async () => {
  const sent = request();
  const body = readRequestBody(sent, 10, new ManualClock());
  sent.write("12345");
  sent.end("67890");
  expect(await body).toEqual({ bytes: Buffer.from("1234567890") });
});

test.each([
  ["its length says so", { "content-length": "11" }, ""],
  ["it turns out to be", {}, "12345678901"],
])(
  "readRequestBody refuses a body that is too large as %s, after its end or a while",
  async (_, headers, text) => {
    const ended = request(headers);
    const refused = readRequestBody(ended, 10, new ManualClock());
    ended.end(text);
    expect(await refused).toEqual({ fault: "too_large" });

    const clock = new ManualClock();
    const endless = request(headers);
    const late = readRequestBody(endless, 10, clock);
    endless.write(text || "x");
    await settled();
    clock.advance(2_000);
    expect(await late).toEqual({ fault: "too_large" });
  },
);

test("readRequestBody refuses a body that there is no room for, and rejects when the peer breaks off", async () => {
  const full = request();
  const refused = readRequestBody(full, 10, new ManualClock(), (bytes) => bytes < 3);
  full.end("1234");
  expect(await refused).toEqual({ fault: "busy" });

  const broken = request();
  const cut = readRequestBody(broken, 10, new ManualClock());
  broken.destroy();
  await expect(cut).rejects.toThrow("the request was cut off");
});

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
