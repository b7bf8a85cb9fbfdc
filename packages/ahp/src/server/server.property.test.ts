import { parseJson } from "@reins/kit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { mutated, PROPERTY, valuesOf } from "../../test/values.ts";
import { Decision } from "../protocol/decisions.ts";
import { AhpEvent } from "../protocol/event.ts";
import { PAYLOADS } from "../protocol/families.ts";
import { BatchRequest, HandshakeRequest, QueryRequest } from "../protocol/messages.ts";
import { isObject } from "../wire/decode.ts";
import type { Handlers, TransportName } from "./handlers.ts";
import { AhpServer } from "./server.ts";

const runs = { ...PROPERTY, numRuns: 150 };

/** Events whose payload is what their type asks for. */
const events = fc.oneof(
  ...Object.entries(PAYLOADS).map(([event_type, payload]: [string, z.ZodType]) =>
    fc
      .tuple(valuesOf(AhpEvent), valuesOf(payload))
      .map(([event, payload]) => ({ ...Object(event), event_type, payload, depth: 0 })),
  ),
);

const ids = fc.constantFrom<unknown[]>("1", "", 0, -1, 7, 1.5, null, true, undefined);

const messages = fc.oneof(
  message("ahp/handshake", valuesOf(HandshakeRequest)),
  message("ahp/event", fc.oneof(valuesOf(AhpEvent), events)),
  message("ahp/query", valuesOf(QueryRequest)),
  message("ahp/batch", valuesOf(BatchRequest)),
);

function message(method: string, params: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  return fc.record({ jsonrpc: fc.constant("2.0"), id: ids, method: fc.constant(method), params });
}

/** Texts with something put into them. */
function noisy(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const noise = fc.constantFrom(
    '"',
    "\\",
    "{",
    "]",
    ",",
    "0",
    ".5",
    "\ud800",
    "\u0000",
    '"id":1,',
    "\\udfff",
    "",
  );
  return fc.tuple(texts, fc.nat(), noise, fc.nat(3)).map(([text, where, inserted, removed]) => {
    const at = where % (text.length + 1);
    return text.slice(0, at) + inserted + text.slice(at + removed);
  });
}

const texts = messages.map((value) => JSON.stringify(value));
const TEXTS: [string, fc.Arbitrary<string>][] = [
  ["any string", fc.string({ unit: "binary" })],
  ["any JSON", fc.json()],
  ["a message", texts],
  ["a message with one thing changed", mutated(messages).map((value) => JSON.stringify(value))],
  ["a message with something put into its text", noisy(texts)],
];

/** What handlers do: decide, return junk, fail. */
const behaviours = fc.oneof(
  fc.oneof(valuesOf(Decision), mutated(valuesOf(Decision)), fc.anything()).map((value) => () => value),
  fc.anything().map((value) => async () => value),
  fc.anything().map((value) => () => {
    throw value;
  }),
);

function harness(behave: () => unknown): Handlers {
  // Whatever a handler written in JavaScript may return.
  const handler = () => behave() as never;
  return {
    event: handler,
    notification: handler,
    query: handler,
    idle: handler,
    context_perception: handler,
    memory_recall: handler,
    planning: handler,
    reasoning: handler,
    rate_limit: handler,
    confirmation: handler,
    intent_detection: handler,
  };
}

const transports = fc.constantFrom<TransportName[]>("stdio", "http");

describe.each([
  ["by default", false],
  ["as upstream", true],
])("%s", (_, compat) => {
  test.each(TEXTS)("%s gets a response or none, whatever the handlers do", async (_, texts) => {
    await fc.assert(
      fc.asyncProperty(texts, behaviours, transports, async (text, behave, transport) => {
        const server = new AhpServer(harness(behave), { compat });
        const reply = await server.handleMessage(text, { transport });
        if (reply !== undefined) expectResponse(reply, compat);
      }),
      runs,
    );
  });

  test("a request with a string id is always answered, under that id", async () => {
    await fc.assert(
      fc.asyncProperty(messages, behaviours, fc.string(), async (message, behave, id) => {
        const server = new AhpServer(harness(behave), { compat });
        const reply = await server.handleMessage(JSON.stringify({ ...message, id }));
        expect(JSON.parse(String(reply)).id).toBe(id);
      }),
      runs,
    );
  });
});

function expectResponse(text: string, compat: boolean): void {
  const { value: reply, duplicateKeys } = parseJson(text);
  if (!isObject(reply)) throw new Error(`not an object: ${text}`);
  expect(duplicateKeys).toBe(false);
  expect(reply.jsonrpc).toBe("2.0");
  expect(["string", "number"].includes(typeof reply.id) || reply.id === null).toBe(true);
  expect(Object.keys(reply)).toEqual(["jsonrpc", "id", "error" in reply ? "error" : "result"]);
  const data = { data: expect.objectContaining({ reason: expect.stringMatching(/^[a-z_]+$/) }) };
  const error = { code: expect.any(Number), message: expect.any(String), ...(compat ? {} : data) };
  if ("error" in reply) expect(reply.error).toEqual(error);
  else expect(isObject(reply.result)).toBe(true);
}
