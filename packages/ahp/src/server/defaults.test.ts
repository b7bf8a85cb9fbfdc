import { expect, test } from "vitest";
import { ask, eventOf, notification, send } from "../../test/messages.ts";
import { AhpServer } from "./server.ts";

/** A harness that only decides on actions and prompts. */
const server = new AhpServer({ event: () => ({ decision: "allow" }) });

test("idle is allowed", async () => {
  expect((await ask(server, "ahp/event", eventOf("idle"))).result).toEqual({ decision: "allow" });
});

test.each([
  ["context_perception", "Context perception not supported"],
  ["memory_recall", "Memory recall not supported"],
  ["planning", "Planning not supported"],
  ["reasoning", "Reasoning not supported"],
  ["rate_limit", "Rate limit decisions not supported"],
  ["confirmation", "Confirmation not supported"],
  ["intent_detection", "Intent detection not supported"],
] as const)("%s is not supported", async (type, text) => {
  expect((await ask(server, "ahp/event", eventOf(type))).error).toEqual({
    code: -32603,
    message: `Handler error: Capability not supported: ${text}`,
    data: { reason: "not_supported" },
  });
});

test.each(["idle", "planning"] as const)("a bad payload of %s is reported before that", async (type) => {
  const { error } = await ask(server, "ahp/event", eventOf(type, { payload: {} }));
  expect(error?.data).toMatchObject({ reason: "invalid_payload", path: ["payload"] });
});

test("a question is not supported", async () => {
  const question = { session_id: "s", agent_id: "a", query_type: "t", payload: null };
  expect((await ask(server, "ahp/query", question)).error).toEqual({
    code: -32603,
    message: "Handler error: Capability not supported: Query not supported",
    data: { reason: "not_supported" },
  });
});

test("notifications are accepted and forgotten", async () => {
  expect(await send(server, notification(eventOf("heartbeat")), { transport: "http" })).toBeUndefined();
});
