import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { eventOf, handshakeOf, notification, type Reply, request, send } from "../../test/messages.ts";
import type { RefusalReason } from "../errors.ts";
import type { Handlers } from "./handlers.ts";
import { AhpServer, type ServerOptions } from "./server.ts";

/** A message that is refused, and the error it gets. */
interface Refused {
  readonly text: string;
  readonly error: Reply["error"];
  readonly handlers?: Partial<Handlers>;
  readonly options?: ServerOptions;
  /** Only HTTP responds to the sender of a notification. */
  readonly transport?: "http";
  /** How far the test advances the clock. */
  readonly wait?: number;
}

const junk = JSON.parse('{"decision":"perhaps"}');
const silence = new Promise<never>(() => {});

/** Every reason a server gives; `busy` belongs to the transports. */
const REFUSED: Readonly<Record<Exclude<RefusalReason, "busy">, Refused>> = {
  parse_error: {
    text: "[".repeat(128),
    error: {
      code: -32700,
      message: "Parse error",
      data: { reason: "parse_error", fault: "too_deep", detail: "nested deeper than 127 arrays and objects" },
    },
  },
  invalid_message: {
    text: '{"jsonrpc":"2.0","id":"1","method":"ahp/event"}',
    error: {
      code: -32600,
      message: "Invalid JSON-RPC message",
      data: { reason: "invalid_message", detail: "not a request and not a notification" },
    },
  },
  duplicate_key: {
    text: '{"jsonrpc":"2.0","id":"1","method":"ahp/event","params":{"a":[{"b":1,"b":2}]}}',
    error: {
      code: -32600,
      message: "Invalid JSON-RPC message",
      data: { reason: "duplicate_key", detail: "an object names a key twice" },
    },
  },
  invalid_id: {
    text: request("ahp/event", eventOf("pre_action"), 1.5),
    error: {
      code: -32600,
      message: "Invalid JSON-RPC message",
      data: { reason: "invalid_id", detail: "id must be a string or an integer" },
    },
  },
  unsupported_jsonrpc: {
    text: '{"jsonrpc":"1.0","id":"1","method":"ahp/event","params":{}}',
    error: {
      code: -32600,
      message: "Invalid JSON-RPC message",
      data: { reason: "unsupported_jsonrpc", detail: 'jsonrpc must be "2.0"' },
    },
  },
  method_not_found: {
    text: '{"jsonrpc":"2.0","id":"1","method":"toString","params":{}}',
    error: {
      code: -32601,
      message: "Method not found",
      data: { reason: "method_not_found", method: "toString" },
    },
  },
  invalid_params: {
    text: request("ahp/batch", { events: [eventOf("pre_action"), { ...eventOf("pre_action"), depth: -1 }] }),
    error: {
      code: -32602,
      message: "Invalid params: invalid value: integer `-1`, expected u32",
      data: { reason: "invalid_params", path: ["events", 1, "depth"] },
    },
  },
  unsupported_version: {
    text: request("ahp/handshake", handshakeOf({ protocol_version: "3.0" })),
    error: {
      code: -32000,
      message: "Unsupported protocol version: 3.0",
      data: { reason: "unsupported_version", supported: "2.4" },
    },
  },
  handshake_required: {
    text: request("ahp/event", eventOf("pre_action")),
    options: { requireHandshake: true },
    error: {
      code: -32001,
      message: "Protocol error: Handshake must complete before sending AHP operations",
      data: { reason: "handshake_required" },
    },
  },
  depth_exceeded: {
    text: request("ahp/event", eventOf("pre_action", { depth: 4 })),
    options: { config: { max_depth: 3 } },
    error: {
      code: -32602,
      message: "Invalid event: Protocol error: Event depth 4 exceeds configured max depth 3",
      data: { reason: "depth_exceeded", depth: 4, max_depth: 3 },
    },
  },
  invalid_payload: {
    text: request(
      "ahp/event",
      eventOf("context_perception", { payload: { intent: "locate", target: { entity: { name: 5 } } } }),
    ),
    error: {
      code: -32603,
      message: "Handler error: Serialization error: invalid type: integer `5`, expected a string",
      data: { reason: "invalid_payload", path: ["payload", "target", "entity", "name"] },
    },
  },
  must_be_notification: {
    text: request("ahp/event", eventOf("post_action")),
    error: {
      code: -32602,
      message: "Fire-and-forget event post_action must be sent as a notification",
      data: { reason: "must_be_notification" },
    },
  },
  must_be_request: {
    text: notification(eventOf("pre_action")),
    transport: "http",
    error: {
      code: -32603,
      message: "Handler error: Protocol error: Blocking event pre_action must be sent as a request",
      data: { reason: "must_be_request" },
    },
  },
  batch_too_large: {
    text: request("ahp/batch", { events: [eventOf("pre_action"), eventOf("pre_action")] }),
    options: { config: { batch_size: 1 } },
    error: {
      code: -32602,
      message: "Batch size 2 exceeds configured limit 1",
      data: { reason: "batch_too_large", size: 2, batch_size: 1 },
    },
  },
  not_batchable: {
    text: request("ahp/batch", { events: [eventOf("pre_action"), eventOf("idle")] }),
    error: {
      code: -32602,
      message: "Event type idle cannot be batched because it does not return a generic Decision",
      data: { reason: "not_batchable", index: 1 },
    },
  },
  not_supported: {
    text: request("ahp/event", eventOf("planning")),
    error: {
      code: -32603,
      message: "Handler error: Capability not supported: Planning not supported",
      data: { reason: "not_supported" },
    },
  },
  invalid_decision: {
    text: request("ahp/event", eventOf("idle")),
    handlers: { idle: () => junk },
    error: {
      code: -32603,
      message: "Handler error: Invalid decision: unknown variant `perhaps`, expected `allow` or `defer`",
      data: { reason: "invalid_decision" },
    },
  },
  handler_failed: {
    text: request("ahp/event", eventOf("pre_action")),
    handlers: {
      event() {
        throw new Error("disk full");
      },
    },
    error: {
      code: -32603,
      message: "Handler error: disk full",
      data: { reason: "handler_failed" },
    },
  },
  handler_timeout: {
    text: request("ahp/query", { session_id: "s", agent_id: "a", query_type: "t", payload: null }),
    handlers: { query: () => silence },
    options: { deadlineMs: 50 },
    wait: 50,
    error: {
      code: -32603,
      message: "Handler error: Timeout after 50ms",
      data: { reason: "handler_timeout" },
    },
  },
};

async function refuse({ text, handlers, options, transport, wait = 0 }: Refused, compat: boolean) {
  const clock = new ManualClock();
  const event = () => ({ decision: "allow" as const });
  const server = new AhpServer({ event, ...handlers }, { ...options, clock, compat });
  const reply = send(server, text, { transport: transport ?? "memory" });
  await clock.advanceAndSettle(wait);
  return reply;
}

test.each(Object.entries(REFUSED))("%s", async (_, refused) => {
  const reply = await refuse(refused, false);
  expect(reply?.error).toEqual(refused.error);
  expect(reply).not.toHaveProperty("result");
});

const { handler_timeout: _, ...alsoUpstream } = REFUSED;

test.each(Object.entries(alsoUpstream))("%s carries no data upstream", async (_, refused) => {
  const reply = await refuse(refused, true);
  expect(reply?.error ?? {}).not.toHaveProperty("data");
});

test("a contract payload in a batch names its place", async () => {
  const events = [eventOf("task_list"), eventOf("task_list", { payload: { tasks: [{ id: 1 }] } })];
  const reply = await refuse({ text: request("ahp/batch", { events }), error: undefined }, false);
  expect(reply?.error).toEqual({
    code: -32602,
    message: "Invalid event: Serialization error: invalid type: integer `1`, expected a string",
    data: { reason: "invalid_payload", path: ["payload", "tasks", 0, "id"], index: 1 },
  });
});

test("an event too deep in a batch names its place", async () => {
  const events = [eventOf("pre_action"), eventOf("pre_action", { depth: 11 })];
  const reply = await refuse({ text: request("ahp/batch", { events }), error: undefined }, false);
  expect(reply?.error?.data).toEqual({ reason: "depth_exceeded", depth: 11, max_depth: 10, index: 1 });
});
