import { sseText } from "@reins/kit";
import { describe, expect, test } from "vitest";
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

const event = (json: object) => sseText({ json });
/** What a stream used that ends after some events. */
function streamed(name: string, ...events: readonly string[]) {
  const counter = new UsageCounter(dialectOf(name), { ...reading, form: "events" });
  for (const one of events) counter.push(Buffer.from(one));
  return counter.end();
}

/** Events in which the model writes four hundred characters, and those that say what was used up to there. */
const WRITTEN: readonly (readonly [name: string, text: object, usage: object])[] = [
  [
    "anthropic messages",
    { type: "content_block_delta", delta: { type: "text_delta", text: "x".repeat(400) } },
    { type: "message_delta", delta: {}, usage: { input_tokens: 7, output_tokens: 90 } },
  ],
  [
    "openai chat",
    { choices: [{ delta: { role: "assistant", content: "x".repeat(400) } }] },
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 90 } },
  ],
  [
    "openai responses",
    { type: "response.output_text.delta", delta: "x".repeat(400) },
    { type: "response.completed", response: { usage: { input_tokens: 7, output_tokens: 90 } } },
  ],
  [
    "gemini generateContent",
    { candidates: [{ content: { role: "model", parts: [{ text: "x".repeat(400) }] } }] },
    {
      candidates: [{ finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 90 },
    },
  ],
];

describe.each(WRITTEN)("in a stream of %s", (name, text, usage) => {
  const counted = { cache_read: 0, cache_write: 0 };
  test("what the provider says counts to the token", () => {
    const all = streamed(name, event(text), event(usage));
    expect(all).toEqual({ ...counted, input: 7, output: 90, estimated: false });
  });

  test("what follows the usage is estimated on top of it", () => {
    const early = streamed(name, event(text), event(usage), event(text));
    expect(early).toEqual({ ...counted, input: 7, output: 200, estimated: true });
    const first = streamed(name, event(usage), event(text));
    expect(first).toEqual({ ...counted, input: 7, output: 190, estimated: true });
  });

  test("an empty usage, and one of zeros for what was written, count as none", () => {
    for (const of of [usage]) {
      const zeros = JSON.parse(JSON.stringify(of).replace(/:(?:7|90)\b/g, ":0"));
      const none = JSON.parse(JSON.stringify(of).replace(/\{("\w+":(?:7|90),?)+\}/g, "{}"));
      for (const lie of [zeros, none])
        expect(streamed(name, event(text), event(lie))).toEqual({
          ...{ ...counted, input: 40, output: 100, estimated: true },
        });
    }
  });

  test("events that cannot be read count as what was written", () => {
    expect(streamed(name, `data: ${"x".repeat(400)}\n\n`)).toMatchObject({ output: 100, estimated: true });
  });
});

test("counts what each part of a cut stream says that was used so far", () => {
  const part = (output: number) => ({
    ...{ choices: [{ delta: { content: "some words" } }] },
    usage: { prompt_tokens: 7, completion_tokens: output, total_tokens: 7 + output },
  });
  expect(streamed("openai chat", event(part(1)), event(part(30)))).toEqual({
    ...{ input: 7, output: 30, cache_read: 0, cache_write: 0, estimated: false },
  });
});

test("counts reasoning that is in the total alone, and what is done beside a response", () => {
  const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 112 };
  expect(streamed("openai chat", event({ choices: [], usage }))).toMatchObject({ input: 7, output: 105 });
  const iterations = [
    { type: "compaction", input_tokens: 180_000, output_tokens: 3_500 },
    { type: "message", input_tokens: 23_000, output_tokens: 1_000 },
    { type: "advisor_message", input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 30 },
  ];
  const counts = { input_tokens: 23_000, output_tokens: 1_000, cache_read_input_tokens: 0, iterations };
  expect(streamed("anthropic messages", event({ type: "message_delta", usage: counts }))).toEqual({
    ...{ input: 203_010, output: 4_520, cache_read: 30, cache_write: 0, estimated: false },
  });
});

test("counts a document that is no JSON as the longest response, and one without usage by its length", () => {
  const counted = (text: string) => {
    const counter = new UsageCounter(dialectOf("openai chat"), { ...reading, form: "document" });
    counter.push(Buffer.from(text));
    return counter.end();
  };
  expect(counted("\b\u0001protobuf")).toMatchObject({ output: 1_000, estimated: true });
  const said = { choices: [{ message: { role: "assistant", content: "x".repeat(400) } }] };
  expect(counted(JSON.stringify(said))).toMatchObject({ input: 40, output: 100, estimated: true });
});

test("counts a list that is streamed while it comes", () => {
  const counter = new UsageCounter(dialectOf("gemini generateContent"), { ...reading, form: "list" });
  const parts = [{ text: '"]}[{\\ '.repeat(100) }];
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 5 };
  const list = [
    { candidates: [{ content: { parts } }] },
    { candidates: [{ finishReason: "STOP" }], usageMetadata },
  ];
  const bytes = Buffer.from(JSON.stringify(list, undefined, 1));
  const half = bytes.indexOf("usageMetadata");
  for (const byte of bytes.subarray(0, half)) counter.push(Buffer.of(byte));
  expect(counter.soFar).toMatchObject({ input: 40, output: 175 });
  counter.push(bytes.subarray(half));
  expect(counter.end()).toEqual({ input: 7, output: 5, cache_read: 0, cache_write: 0, estimated: false });
});

test.each([
  ["no JSON", "data: [DONE]\n\n"],
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
  const file = (start: string) =>
    estimatedInput({ messages: [{ data: `${start}${"A".repeat(1_000_000)}` }] });
  expect(file("iVBORw0KGgo")).toBeLessThan(2_000);
  expect(file("JVBERi0")).toBeGreaterThan(50_000);
  // No file, but a text without a space.
  expect(estimatedInput({ content: "a".repeat(100_000) })).toBeGreaterThan(25_000);
  expect(estimatedInput({ content: "漢".repeat(100_000) })).toBeGreaterThan(99_000);
  let deep: unknown = "x";
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  expect(estimatedInput(deep)).toBe(1);
});
