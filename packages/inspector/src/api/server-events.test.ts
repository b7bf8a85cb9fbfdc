import { expect, it } from "vitest";
import { serverEvents } from "./server-events.ts";

async function eventsOf(...chunks: readonly string[]): Promise<string[]> {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
      controller.close();
    },
  });
  return Array.fromAsync(serverEvents(body));
}

it("yields the data of each event for every chunking of the response", async () => {
  expect(await eventsOf("event: progress\nid: 1\nda", 'ta: {"a":1}\n', '\ndata: {"b":2}\n\n')).toEqual([
    '{"a":1}',
    '{"b":2}',
  ]);
});

it("joins the data lines of an event and skips comments", async () => {
  expect(await eventsOf(": still here\n\n", "data:one\ndata: two\n\n")).toEqual(["one\ntwo"]);
});

it("accepts CRLF line endings", async () => {
  expect(await eventsOf("data: one\r\n\r\ndata: two\r\n\r\n")).toEqual(["one", "two"]);
});

it("drops an incomplete last event", async () => {
  expect(await eventsOf("data: whole\n\ndata: ha")).toEqual(["whole"]);
});
