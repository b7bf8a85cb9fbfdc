import { describe, expect, test } from "vitest";
import { type Resumption, readEvents, type StreamEvent } from "./event-stream.ts";

async function read(text: string, size = 1, maxBytes = 1_000) {
  const resumption: Resumption = { lastEventId: undefined, retryMs: undefined };
  async function* stream() {
    const bytes = Buffer.from(text);
    for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
  }
  const events: StreamEvent[] = await Array.fromAsync(readEvents(stream(), maxBytes, resumption));
  return { events, resumption };
}

describe("a stream of events", () => {
  test.each([1, 2, 7, 1_000])("is read the same in pieces of %d bytes", async (size) => {
    const text =
      "event: one\ndata: ä\ndata:b\n\n: still here\n\ndata: {}\nid: 5\nretry: 20\n\r\ndata\n\nevent: lost\n\n";
    const { events, resumption } = await read(text, size);
    expect(events).toEqual([
      { event: "one", data: "ä\nb" },
      { event: "message", data: "{}" },
      { event: "message", data: "" },
    ]);
    expect(resumption).toEqual({ lastEventId: "5", retryMs: 20 });
  });

  test("may use any line ends", async () => {
    const { events } = await read("data: a\r\ndata: b\rdata: c\n\ndata: d\r\n\r\n", 1);
    expect(events.map(({ data }) => data)).toEqual(["a\nb\nc", "d"]);
  });

  test("is given up when an event has no end", async () => {
    await expect(read(`data: ${"x".repeat(2_000)}`, 10)).rejects.toThrow("an event of more than 1000 bytes");
    await expect(read("data: xxxx\n".repeat(400), 10)).rejects.toThrow("an event of more than 1000 bytes");
  });

  test("without an end to its last event does not give that event", async () => {
    expect((await read("data: a\n\ndata: b\n")).events).toEqual([{ event: "message", data: "a" }]);
  });
});
