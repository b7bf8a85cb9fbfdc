import { PassThrough, Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, MessageListener } from "./json/parse.ts";
import { type MessageFault, MessageReader, MessageWriter } from "./messages.ts";

function reading(message: MessageListener, maxLineBytes = 1_000) {
  const stream = new PassThrough();
  const faults: MessageFault[] = [];
  const reader = new MessageReader(stream, maxLineBytes, { message, fault: (fault) => faults.push(fault) });
  return { stream, reader, faults };
}

async function read(chunks: readonly (string | Buffer)[], maxLineBytes?: number) {
  const messages: JsonObject[] = [];
  const { stream, reader, faults } = reading((message) => void messages.push(message), maxLineBytes);
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await reader.ended;
  return { messages, faults: faults.map(({ kind, excerpt }) => [kind, excerpt]) };
}

test("a message is an object on a line of its own; blank lines and CRLF are tolerated", async () => {
  expect(await read(['{"a":1}\n\n{"b":2}\r\n\r\n{"c":3}'])).toEqual({
    messages: [{ a: 1 }, { b: 2 }, { c: 3 }],
    faults: [],
  });
});

test("it does not matter how the bytes come", async () => {
  const cuts = fc.array(fc.nat(400), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), cuts, async (messages, at) => {
      const bytes = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
      const ends = [...at, bytes.length].map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b);
      const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
      const found = await read(chunks, 100_000);
      expect(JSON.stringify(found.messages)).toBe(
        JSON.stringify(messages.map((one) => JSON.parse(JSON.stringify(one)))),
      );
    }),
    { numRuns: 50 },
  );
});

test("reports a line that is no message with an excerpt, and skips it", async () => {
  const half = Buffer.from("é").subarray(0, 1);
  const { messages, faults } = await read([
    "Listening…\n[1]\n",
    half,
    `\n"x"\n${"y".repeat(500)}\n{"a":1}\n`,
  ]);
  expect(messages).toEqual([{ a: 1 }]);
  expect(faults).toEqual([
    ["not_a_message", "Listening…"],
    ["not_a_message", "[1]"],
    ["not_a_message", "\ufffd"],
    ["not_a_message", '"x"'],
    ["not_a_message", "y".repeat(200)],
  ]);
});

test("reports a line beyond the bound once, skips all of it, and reads the next one", async () => {
  const long = `{"a":"${"x".repeat(200)}"}`;
  const excerpt = long.slice(0, 200);
  const expected = { messages: [{ b: 1 }], faults: [["line_too_long", excerpt]] };
  expect(await read([`${long}\n{"b":1}\n`], 100)).toEqual(expected);
  expect(await read([`{"b":1}\n${long}\n`], 100)).toEqual(expected);
  const exact = JSON.stringify({ a: "x".repeat(92) });
  expect(await read([exact.slice(0, 50), `${exact.slice(50)}\n${exact}\n`], 100)).toMatchObject({
    faults: [],
  });
  expect(await read([long.slice(0, 60), long.slice(60), '\n{"b":1}\n'], 100)).toMatchObject({
    messages: [{ b: 1 }],
    faults: [["line_too_long", excerpt]],
  });
});

test("delivers one message at a time and stops reading while a listener is slow", async () => {
  const taken: unknown[] = [];
  const free = Promise.withResolvers<void>();
  const { stream, reader } = reading(async ({ n }) => {
    taken.push(n);
    if (n === 1) await free.promise;
  });
  const line = (n: number) => `{"n":${n},"text":"${"x".repeat(900)}"}\n`;
  for (let n = 0; n < 1_000; n += 1) stream.write(line(n));
  for (let wait = 0; wait < 10; wait += 1) await turn();
  expect(taken).toEqual([0, 1]);
  expect(stream.writableNeedDrain).toBe(true);
  expect(reader.delivering).toBe(true);
  stream.end();
  free.resolve();
  await reader.ended;
  expect(taken).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
});

test("reports a listener that fails, and delivers the next message", async () => {
  const taken: unknown[] = [];
  const { stream, reader, faults } = reading(({ n }) => {
    taken.push(n);
    if (n === 1) throw new Error("at once");
    return n === 2 ? Promise.reject(new Error("later")) : undefined;
  });
  stream.end('{"n":1}\n{"n":2}\n{"n":3}\n');
  await reader.ended;
  expect(taken).toEqual([1, 2, 3]);
  expect(faults.map(({ kind, cause }) => [kind, String(cause)])).toEqual([
    ["listener_failed", "Error: at once"],
    ["listener_failed", "Error: later"],
  ]);
});

test("a line that comes byte by byte costs what its bytes do", async () => {
  const bytes = Buffer.from(`{"a":"${"x".repeat(20_000)}"}\n`);
  const { messages } = await read(
    [...bytes].map((byte) => Buffer.from([byte])),
    100_000,
  );
  expect(messages).toEqual([{ a: "x".repeat(20_000) }]);
});

test("once closed, it delivers nothing more", async () => {
  const taken: unknown[] = [];
  const { stream, reader } = reading(async ({ n }) => {
    taken.push(n);
    if (n === 2) reader.close();
  });
  stream.write('{"n":1}\n{"n":2}\n{"n":3}\n');
  await reader.ended;
  expect(taken).toEqual([1, 2]);
});

test("numbers that JavaScript cannot hold are passed on to the digit", async () => {
  const lines = fc.sample(fc.bigInt({ min: 2n ** 53n + 1n, max: 2n ** 90n }), { seed: 7, numRuns: 50 });
  for (const number of lines) {
    const line = `{"rawInput":{"id":${number},"rest":[0.1000000000000000055,1e400,-0]}}`;
    expect(JSON.stringify((await read([`${line}\n`])).messages[0])).toBe(line);
  }
});

function writing(maxLineBytes = 1_000) {
  const stream = new PassThrough({ highWaterMark: 100 });
  return { stream, writer: new MessageWriter(stream, maxLineBytes) };
}

test("a message is a line, whatever is in it", async () => {
  const { stream, writer } = writing();
  await Promise.all([writer.send({ a: "1\n2" }), writer.send({ b: [] })]);
  writer.end();
  expect((await stream.toArray()).join("")).toBe('{"a":"1\\n2"}\n{"b":[]}\n');
});

test("characters that some programs take for the end of a line are written out", async () => {
  const { stream, writer } = writing();
  const message = { text: "a\u2028b\u2029c", "\u2028": "\\u2028" };
  await writer.send(message);
  writer.end();
  const line = (await stream.toArray()).join("");
  expect(line).not.toMatch(/[\u2028\u2029]/);
  expect(JSON.parse(line)).toEqual(message);
});

test("who sends to a process that does not read waits until it does", async () => {
  const { stream, writer } = writing();
  let sent = false;
  const sending = writer.send({ text: "x".repeat(500) }).then(() => {
    sent = true;
  });
  for (let wait = 0; wait < 5; wait += 1) await turn();
  expect(sent).toBe(false);
  stream.resume();
  await sending;
});

test("a burst of messages is sent to a process that reads at once", async () => {
  let length = 0;
  const write = (chunk: Buffer, _: unknown, done: () => void) => {
    length += chunk.length;
    done();
  };
  const writer = new MessageWriter(new Writable({ highWaterMark: 100, write }), 1_000);
  for (let n = 0; n < 100; n += 1) await writer.send({ n, text: "x".repeat(50) });
  await turn();
  expect(length).toBeGreaterThan(100 * 50);
});

test("a message that is too long is refused, and so is one more when far too much waits", async () => {
  const { writer } = writing();
  await expect(writer.send({ text: "x".repeat(1_000) })).rejects.toMatchObject({ code: "too_large" });
  const waiting = Array.from({ length: 4 }, () => writer.send({ text: "x".repeat(900) }));
  for (const one of waiting) one.catch(() => undefined);
  await expect(writer.send({ a: 1 })).rejects.toMatchObject({ code: "backed_up" });
});

test("what waits fails when the process is gone, and so does whatever comes later", async () => {
  const { writer } = writing();
  const waiting = writer.send({ text: "x".repeat(500) });
  writer.close("The agent has ended with code 3.");
  await expect(waiting).rejects.toMatchObject({ code: "gone", message: expect.stringMatching(/code 3/) });
  await expect(writer.send({})).rejects.toMatchObject({ code: "gone" });
});

test("a message to a stream that was destroyed is refused at once", async () => {
  const { stream, writer } = writing();
  stream.destroy();
  await expect(writer.send({})).rejects.toMatchObject({ code: "gone" });
});

test("after the end nothing is sent", async () => {
  const { stream, writer } = writing();
  await writer.send({ last: true });
  writer.end();
  await expect(writer.send({})).rejects.toMatchObject({ code: "gone" });
  expect((await stream.toArray()).join("")).toBe('{"last":true}\n');
});
