import { describe, expect, test } from "vitest";
import { EventType, isBatchable, isBlocking, isContract, isSpecialised } from "./event.ts";
import { DECISIONS, PAYLOADS } from "./families.ts";

/** The table of the protocol: B blocking, S with a decision of its own, C durable contract, M may be batched. */
const TABLE: Readonly<Record<EventType, string>> = {
  handshake: "B",
  pre_action: "BM",
  post_action: "M",
  pre_prompt: "BM",
  post_response: "M",
  session_start: "M",
  session_end: "M",
  error: "M",
  query: "B",
  heartbeat: "M",
  idle: "BS",
  context_perception: "BS",
  success: "M",
  memory_recall: "BS",
  planning: "BS",
  reasoning: "BS",
  rate_limit: "BS",
  confirmation: "BS",
  intent_detection: "BS",
  run_lifecycle: "CM",
  task_list: "CM",
  verification: "CM",
};

test("the table has every event type, in the order in which peers list them", () => {
  expect(Object.keys(TABLE)).toEqual(EventType.options);
});

describe.each(EventType.options)("%s", (type) => {
  test("is what the table says", () => {
    const marks = [
      isBlocking(type) ? "B" : "",
      isSpecialised(type) ? "S" : "",
      isContract(type) ? "C" : "",
      isBatchable(type) ? "M" : "",
    ];
    expect(marks.join("")).toBe(TABLE[type]);
  });

  test("has a decision exactly when it is blocking", () => {
    expect(type in DECISIONS).toBe(isBlocking(type));
  });

  test("has a checked payload exactly when it is specialised or a contract", () => {
    expect(type in PAYLOADS).toBe(isSpecialised(type) || isContract(type));
  });
});
