import { describe, expect, test } from "vitest";
import { timeOf, toneOf, variantIn, withFilter } from "./wire-page.tsx";

describe("the filter of messages", () => {
  test("is set by name", () => {
    expect(withFilter({}, "protocol", "acp")).toEqual({ protocol: "acp" });
    expect(withFilter({ protocol: "acp" }, "edge", "agent")).toEqual({ protocol: "acp", edge: "agent" });
    expect(withFilter({ edge: "agent" }, "edge", "client")).toEqual({ edge: "client" });
  });

  test("is removed by an empty value", () => {
    expect(withFilter({ protocol: "acp", direction: "in" }, "protocol", "")).toEqual({ direction: "in" });
    expect(withFilter({ method: "session/new" }, "method", "  ")).toEqual({});
  });

  test("ignores values that the server does not know", () => {
    expect(withFilter({}, "protocol", "smtp")).toEqual({});
    expect(withFilter({}, "direction", "up")).toEqual({});
  });

  test("takes texts without spaces around them", () => {
    expect(withFilter({}, "method", " session/new ")).toEqual({ method: "session/new" });
    expect(withFilter({}, "session", "abc")).toEqual({ session: "abc" });
  });

  test("does not change the filter before", () => {
    const before = { protocol: "acp" } as const;
    withFilter(before, "edge", "agent");
    expect(before).toEqual({ protocol: "acp" });
  });
});

describe("a message", () => {
  test("names the kind of session update that it carries", () => {
    const update = { sessionUpdate: "agent_message_chunk" };
    expect(variantIn({ method: "session/update", params: { sessionId: "s", update } })).toBe(
      "agent_message_chunk",
    );
  });

  test.each([undefined, null, "text", {}, { params: null }, { params: { update: { sessionUpdate: 7 } } }])(
    "names none in %j",
    (message) => {
      expect(variantIn(message)).toBe("");
    },
  );

  test("has its time of day with milliseconds", () => {
    const at = new Date(2026, 0, 1, 13, 5, 9, 7);
    expect(timeOf(at.toISOString())).toMatch(/13:05:09.*\.007$/);
  });
});

test.each([
  [200, "good"],
  [304, "good"],
  [404, "warn"],
  [500, "bad"],
])("the status %d is %s", (status, tone) => {
  expect(toneOf(status)).toBe(tone);
});
