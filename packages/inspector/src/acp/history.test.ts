import { expect, test } from "vitest";
import { historyOf } from "./history.ts";

const said = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

test("what was said is fetched page by page, up to a place", async () => {
  const asked: object[] = [];
  const pages = [
    { updates: [said("one "), said("two ")], next: 7 },
    { updates: [said("three")], next: null },
  ];
  const items = await historyOf(
    async (params) => {
      asked.push(params);
      return pages.shift();
    },
    "s",
    9,
  );
  expect(items).toMatchObject([{ kind: "message", text: "one two three" }]);
  expect(asked).toEqual([
    { sessionId: "s", after: 0, until: 9 },
    { sessionId: "s", after: 7, until: 9 },
  ]);
});

test("a session without an end is not fetched without an end", async () => {
  const items = await historyOf(async () => ({ updates: [said("x")], next: 1 }), "s", undefined);
  expect(items.at(-1)).toMatchObject({ kind: "note", tone: "warn" });
});
