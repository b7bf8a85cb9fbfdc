import { describe, expect, test } from "vitest";
import { EMPTY_CONVERSATION, type Item, withNote } from "../../acp/conversation/conversation.ts";
import { firstWords, retryText, stageOf } from "./conversation-page.tsx";

const message = (from: "user" | "agent", text: string): Item => ({
  kind: "message",
  from,
  text,
  name: undefined,
  said: undefined,
});
const silent = { conversation: EMPTY_CONVERSATION, waiting: [], phase: "live" } as const;
const begun = { ...silent, conversation: withNote(EMPTY_CONVERSATION, "note", "hi") };
const queued = { ...silent, waiting: [{ id: "p", text: "hi", state: "sent" }] } as const;
const more = { isOver: false, origins: 0, isLoading: false };

describe("the middle of the page", () => {
  test("is empty before the first message", () => {
    expect(stageOf(silent, more)).toBe("empty");
  });

  test("is the conversation once there is something to show", () => {
    expect(stageOf(begun, more)).toBe("timeline");
    expect(stageOf(silent, { ...more, origins: 1 })).toBe("timeline");
    expect(stageOf(queued, more)).toBe("timeline");
    expect(stageOf(silent, { ...more, isOver: true })).toBe("timeline");
  });

  test.each(["loading", "cut"] as const)("is loading while the phase is %s and nothing is known", (phase) => {
    expect(stageOf({ ...silent, phase }, more)).toBe("loading");
    expect(stageOf({ ...begun, phase }, more)).toBe("timeline");
  });

  test("is loading while the history of a fork is fetched", () => {
    expect(stageOf(silent, { ...more, isLoading: true })).toBe("loading");
  });

  test("is the error of a session that could not be loaded, whatever was there before", () => {
    expect(stageOf({ ...begun, phase: "failed" }, more)).toBe("failed");
  });
});

describe("the title of a session without one", () => {
  test("is the beginning of the first prompt", () => {
    const items = [message("agent", "hello"), message("user", "count the frogs"), message("user", "again")];
    expect(firstWords({ ...EMPTY_CONVERSATION, items })).toBe("count the frogs");
    const long = [message("user", "x".repeat(200))];
    expect(firstWords({ ...EMPTY_CONVERSATION, items: long })).toHaveLength(80);
  });

  test("is absent before the first prompt", () => {
    expect(firstWords(EMPTY_CONVERSATION)).toBeUndefined();
    expect(firstWords({ ...EMPTY_CONVERSATION, items: [message("agent", "hi")] })).toBeUndefined();
  });
});

test.each([
  [3_000, 0, "next retry in 3 s"],
  [3_000, 2_100, "next retry in 1 s"],
  [3_000, 3_000, "retrying now"],
  [3_000, 9_000, "retrying now"],
])("a retry at %d is announced at %d as %s", (retryAt, now, text) => {
  expect(retryText(retryAt, now)).toBe(text);
});
