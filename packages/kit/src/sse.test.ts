import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EventTooLarge, readSse, type ServerSentEvent, SseParser, sseText } from "./sse.ts";

async function* chunksOf(bytes: Uint8Array, size: number) {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function read(text: string, size = 1, maxLength = 1_000) {
  const parser = new SseParser(maxLength);
  const events: ServerSentEvent[] = await Array.fromAsync(
    readSse(chunksOf(new TextEncoder().encode(text), size), parser),
  );
  return { events, lastEventId: parser.lastEventId, retryMs: parser.retryMs };
}

describe("SseParser", () => {
  const text =
    "\ufeffevent: one\ndata: ä\ndata:b\n\n: alive\n\ndata: {}\nid: 5\nretry: 20\n\ndata\n\nevent: lost\n\nid: 6\n\n";
  const parsed = {
    events: [
      { id: "", event: "one", data: "ä\nb" },
      { id: "5", event: "message", data: "{}" },
      { id: "5", event: "message", data: "" },
      { id: "6", event: "message" },
    ],
    lastEventId: "6",
    retryMs: 20,
  };

  test.each(["\n", "\r\n", "\r"])("parses lines that end with %j, in chunks of any size", async (end) => {
    for (const size of [1, 2, 3, 7, 1_000])
      expect(await read(text.replaceAll("\n", end), size)).toEqual(parsed);
  });

  test("returns the same events for all chunk borders of any text", async () => {
    const field = fc.constantFrom("data", "event", "id", "retry", "", "other");
    const end = fc.constantFrom("\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r");
    const line = fc.tuple(field, fc.constantFrom(":", ": ", ""), fc.string({ unit: "grapheme" }), end);
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 9 }), async (lines, size) => {
        const body = lines.flat().join("");
        expect(await read(body, size)).toEqual(await read(body, 1_000_000));
      }),
    );
  });

  test("drops an event without an end, and its id", async () => {
    expect(await read("id: 1\ndata: a\n\nid: 2\ndata: b\n")).toMatchObject({
      events: [{ id: "1", data: "a" }],
      lastEventId: "1",
    });
  });

  test("ignores an id with a null character and a retry that is no number", async () => {
    expect(await read("id: a\0\nretry: 1s\ndata: x\n\n")).toEqual({
      events: [{ id: "", event: "message", data: "x" }],
      lastEventId: undefined,
      retryMs: undefined,
    });
  });

  test.each([1, 10, 100_000])("throws on an event beyond the limit, in chunks of %d bytes", async (size) => {
    await expect(read(`data: ${"x".repeat(2_000)}`, size)).rejects.toThrow(EventTooLarge);
    await expect(read("data: xxxx\n".repeat(400), size)).rejects.toThrow(EventTooLarge);
    expect((await read("data: xxxx\n\n".repeat(400), size)).events).toHaveLength(400);
  });
});

test("sseText writes what the parser reads", async () => {
  expect(sseText({ id: 7, event: "entry", data: "{}" })).toBe("id: 7\nevent: entry\ndata: {}\n\n");
  expect(sseText({ event: "message", json: { a: "\n" } })).toBe('event: message\ndata: {"a":"\\n"}\n\n');
  expect(sseText({ id: 8 })).toBe("id: 8\n\n");
  const { events } = await read(sseText({ id: 7, event: "entry", data: "{}" }) + sseText({ id: 8 }));
  expect(events).toEqual([
    { id: "7", event: "entry", data: "{}" },
    { id: "8", event: "message" },
  ]);
});
