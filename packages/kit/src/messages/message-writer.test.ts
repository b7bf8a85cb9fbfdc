import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { MessageWriter } from "./message-writer.ts";

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
  await expect(waiting).rejects.toMatchObject({ code: "gone", message: /code 3/ });
  await expect(writer.send({})).rejects.toMatchObject({ code: "gone" });
});

test("after the end nothing is sent", async () => {
  const { stream, writer } = writing();
  await writer.send({ last: true });
  writer.end();
  await expect(writer.send({})).rejects.toMatchObject({ code: "gone" });
  expect((await stream.toArray()).join("")).toBe('{"last":true}\n');
});
