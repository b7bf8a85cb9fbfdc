import { sseText } from "@reins/kit";
import { expect, test } from "vitest";
import { type CallDialect, GATEWAY_METHODS } from "./dialects.ts";
import { estimatedInput, UsageCounter } from "./usage.ts";

const dialectOf = (name: string): CallDialect => {
  const found = GATEWAY_METHODS.find((method) => method.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found.dialect;
};
const reading = { estimatedInput: 40, maxOutput: 1_000 };

test("counts a stream whose bytes arrive one by one", () => {
  const counter = new UsageCounter(dialectOf("anthropic messages"), { ...reading, form: "events" });
  const usage = { input_tokens: 7, cache_read_input_tokens: 100, output_tokens: 1 };
  const text =
    sseText({ event: "message_start", json: { type: "message_start", message: { usage } } }) +
    sseText({
      json: { type: "content_block_delta", delta: { type: "text_delta", text: "ünï✓".repeat(10) } },
    }) +
    sseText({ json: { type: "message_delta", usage: { output_tokens: 55 } } });
  for (const byte of Buffer.from(text)) counter.push(Buffer.of(byte));
  expect(counter.end()).toEqual({ input: 7, output: 55, cache_read: 100, cache_write: 0, estimated: false });
});

test.each([
  ["no JSON", "data: {\n\ndata: [DONE]\n\n"],
  ["other types than expected", sseText({ json: { type: 1, usage: [], choices: {}, delta: 3 } })],
  [
    "amounts that are none",
    sseText({ json: { usage: { input_tokens: -1, output_tokens: "many" } } }).replace("usage", "used"),
  ],
])("takes %s for an estimate, and never fails", (_, text) => {
  for (const { name, dialect } of GATEWAY_METHODS) {
    const counter = new UsageCounter(dialect, { ...reading, form: "events" });
    counter.push(Buffer.from(text));
    expect([name, counter.end()]).toEqual([
      name,
      { input: 40, output: 0, cache_read: 0, cache_write: 0, estimated: true },
    ]);
  }
});

test("counts an event without an end as the longest response", () => {
  const counter = new UsageCounter(dialectOf("openai chat"), { ...reading, form: "events" });
  const chunk = Buffer.alloc(8 << 20, "x");
  for (let megabytes = 0; megabytes < 40; megabytes += 8) counter.push(chunk);
  expect(counter.end()).toMatchObject({ output: 1_000, estimated: true });
});

test("counts a response that is written in the background as the longest, unless its end was read", () => {
  const counted = (document: object) => {
    const background = { ...reading, goesOn: true, form: "document" as const };
    const counter = new UsageCounter(dialectOf("openai responses"), background);
    counter.push(Buffer.from(JSON.stringify(document)));
    return counter.end();
  };
  expect(counted({ id: "r", status: "queued", usage: null })).toMatchObject({
    ...{ input: 40, output: 1_000, estimated: true },
  });
  expect(counted({ id: "r", usage: { input_tokens: 7, output_tokens: 5 } })).toMatchObject({
    ...{ input: 7, output: 5, estimated: false },
  });
});

test("estimates texts by their length, and files by their number", () => {
  expect(estimatedInput({ a: "x".repeat(399) })).toBe(100);
  expect(estimatedInput({ messages: [{ data: "A".repeat(1_000_000) }] })).toBeLessThan(2_000);
  let deep: unknown = "x";
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  expect(estimatedInput(deep)).toBe(1);
});
