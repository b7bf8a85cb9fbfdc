import { describe, expect, test } from "vitest";
import { eventOf, request, send } from "../../test/messages.ts";
import { AhpServer } from "./server.ts";

const allow = { event: () => ({ decision: "allow" as const }) };
const params = eventOf("pre_action");
const server = new AhpServer(allow);
const compat = new AhpServer(allow, { compat: true });

describe("the id of a request comes back as it was", () => {
  test.each([
    ["a string", '"x"'],
    ["the empty string", '""'],
    ["a string with escapes", '"\\u0000\\"\u{1f600}"'],
    ["0", "0"],
    ["a number", "42"],
    ["a negative number", "-7"],
    ["the greatest exact integer", "9007199254740991"],
    ["the least exact integer", "-9007199254740991"],
  ])("%s", async (_, id) => {
    const text = `{"jsonrpc":"2.0","id":${id},"method":"ahp/event","params":${JSON.stringify(params)}}`;
    const reply = await server.handleMessage(text);
    expect(reply).toBe(
      `{"jsonrpc":"2.0","id":${JSON.stringify(JSON.parse(id))},"result":{"decision":"allow"}}`,
    );
  });
});

describe("an id that could not come back as it was is refused", () => {
  test.each([
    ["a fraction", "1.5", null],
    ["an integer spelled as a float", "1.0", 1],
    ["an integer with an exponent", "1e3", 1000],
    ["-0", "-0", 0],
    ["an integer that JavaScript rounds", "9007199254740993", null],
    ["a huge integer", "123456789012345678901234567890", null],
    ["true", "true", null],
    ["an array", "[1]", null],
    ["an object", '{"a":1}', null],
  ])("%s", async (_, id, answeredUnder) => {
    const text = `{"jsonrpc":"2.0","id":${id},"method":"ahp/event","params":${JSON.stringify(params)}}`;
    expect(await send(server, text)).toEqual({
      jsonrpc: "2.0",
      id: answeredUnder,
      error: {
        code: -32600,
        message: "Invalid JSON-RPC message",
        data: { reason: "invalid_id", detail: "id must be a string or an integer" },
      },
    });
  });
});

test("a message whose id is null is a notification", async () => {
  const seen: string[] = [];
  const noting = new AhpServer({ ...allow, notification: (event) => void seen.push(event.event_type) });
  expect(await send(noting, request("ahp/event", eventOf("post_action"), null))).toBeUndefined();
  expect(seen).toEqual(["post_action"]);
});

describe("what looks like a response", () => {
  const responses = [
    '{"jsonrpc":"2.0","id":"1","result":{}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
    '{"id":1,"error":null}',
    '{"jsonrpc":"2.0","id":"1","result":1,"result":2}',
  ];

  test.each(responses)("is not answered on a stream, so that errors never echo: %s", async (text) => {
    expect(await send(server, text, { transport: "websocket" })).toBeUndefined();
    expect(await send(compat, text, { transport: "websocket" })).toBeUndefined();
  });

  test.each(responses)("is answered over HTTP, where a sender waits: %s", async (text) => {
    const reply = await send(server, text, { transport: "http" });
    expect(reply?.error?.code).toBe(-32600);
  });

  test("is reported to the operator of the server", async () => {
    const dropped: string[] = [];
    const watched = new AhpServer(allow, { onDropped: (reason, text) => dropped.push(`${reason}: ${text}`) });
    await watched.handleMessage('{"result":1}');
    expect(dropped).toEqual(['Invalid JSON-RPC message: {"result":1}']);
  });

  test("but names a method is a message", async () => {
    const text = JSON.stringify({ ...JSON.parse(request("ahp/event", params)), result: 1, error: 2 });
    expect(await send(server, text)).toMatchObject({ result: { decision: "allow" } });
    expect(await send(server, '{"method":"m","result":1}')).toMatchObject({ error: { code: -32600 } });
  });
});

describe("jsonrpc", () => {
  test.each(['"1.0"', '""', '"2"', '"2.0 "'])("%s is refused", async (version) => {
    const text = `{"jsonrpc":${version},"id":"1","method":"ahp/event","params":${JSON.stringify(params)}}`;
    const reply = await send(server, text);
    expect(reply).toMatchObject({
      id: "1",
      error: { code: -32600, data: { reason: "unsupported_jsonrpc" } },
    });
    expect(await send(compat, text)).toMatchObject({ result: { decision: "allow" } });
  });

  test.each(["2.0", "2", "null", "[]"])("%s is no version, so the message is none", async (version) => {
    const text = `{"jsonrpc":${version},"id":"1","method":"ahp/event","params":{}}`;
    expect(await send(server, text)).toMatchObject({
      id: "1",
      error: { code: -32600, data: { reason: "invalid_message" } },
    });
  });
});

describe("malformed messages are answered under the id they name, if it is one", () => {
  test.each([
    ["{}", null],
    ["[]", null],
    ["5", null],
    ['"ahp/event"', null],
    ["null", null],
    ['[{"jsonrpc":"2.0","id":"1","method":"ahp/event","params":{}}]', null],
    ['{"jsonrpc":"2.0","id":"x","method":"ahp/event"}', "x"],
    ['{"jsonrpc":"2.0","id":7,"method":5,"params":{}}', 7],
    ['{"jsonrpc":"2.0","id":{},"params":{}}', null],
  ])("%s", async (text, id) => {
    expect(await send(server, text)).toMatchObject({
      id,
      error: { code: -32600, message: "Invalid JSON-RPC message", data: { reason: "invalid_message" } },
    });
    expect(await send(compat, text)).toBeUndefined();
  });
});

describe("duplicate keys", () => {
  const doubled = request("ahp/event", params).replace('"depth":0', '"depth":0,"depth":1');

  test("are refused anywhere in a message", async () => {
    expect(await send(server, doubled)).toMatchObject({
      id: "1",
      error: { code: -32600, data: { reason: "duplicate_key" } },
    });
  });

  test("inside params count for nothing upstream", async () => {
    expect(await send(compat, doubled)).toMatchObject({ result: { decision: "allow" } });
  });

  test("in the envelope make the message unusable upstream, except over HTTP", async () => {
    const text = request("ahp/event", params).replace('"id":"1"', '"method":"ahp/query","id":"1"');
    expect(await send(compat, text, { transport: "unix" })).toBeUndefined();
    expect(await send(compat, text, { transport: "http" })).toMatchObject({ result: { decision: "allow" } });
  });

  test("of the id make it a notification upstream", async () => {
    const text = request("ahp/event", params).replace('"id":"1"', '"id":"1","id":"2"');
    expect(await send(compat, text, { transport: "stdio" })).toBeUndefined();
    expect(await send(compat, text, { transport: "http" })).toMatchObject({ id: "2" });
  });

  test("beside very long strings are refused like any others", async () => {
    const text = `{"id":"1","id":"2","jsonrpc":"2.0","method":"m","params":"${"x".repeat(20_000_000)}"}`;
    expect(await send(compat, text, { transport: "stdio" })).toBeUndefined();
  });
});

describe("unreadable messages", () => {
  test.each([
    ["not JSON", "{", "syntax"],
    ["nothing", "", "syntax"],
    ["too deep", "[".repeat(128) + "]".repeat(128), "too_deep"],
    ["half a character", '"\\ud800"', "lone_surrogate"],
    ["a number out of range", "1e999", "number_out_of_range"],
  ])("are answered with what is wrong: %s", async (_, text, fault) => {
    expect(await server.handle(text, { transport: "stdio" })).toMatchObject({ unreadable: true });
    expect(await send(server, text)).toMatchObject({
      id: null,
      error: { code: -32700, message: "Parse error", data: { reason: "parse_error", fault } },
    });
  });

  test("are dropped and reported upstream's way", async () => {
    const dropped: string[] = [];
    const watched = new AhpServer(allow, { compat: true, onDropped: (reason) => dropped.push(reason) });
    const outcome = await watched.handle("{", { transport: "http" });
    expect(outcome).toEqual({ reply: undefined, unreadable: true });
    expect(dropped).toEqual(["Parse error"]);
  });
});

test("nesting: the 127th level is read, and given back", async () => {
  const echo = new AhpServer({ event: ({ payload }) => ({ decision: "modify", modified_payload: payload }) });
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
  const reply = await send(echo, request("ahp/event", eventOf("pre_action", { payload: nested(125) })));
  expect(reply).toMatchObject({ result: { decision: "modify" } });
  const refused = await send(echo, request("ahp/event", eventOf("pre_action", { payload: nested(126) })));
  expect(refused).toMatchObject({ error: { code: -32700 } });
});
