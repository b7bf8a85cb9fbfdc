import { expect, test } from "vitest";
import { EventSequence } from "./sessions.ts";

test("event numbers grow and start above those of a server before the restart", () => {
  const sequence = new EventSequence({ messages: 2, entries: 3 });
  const numbers = ["a", "b"].map((text) => sequence.number({ type: "text_delta", text }));
  expect(numbers).toEqual([
    { type: "text_delta", text: "a", seq: 21 },
    { type: "text_delta", text: "b", seq: 22 },
  ]);
  const next = new EventSequence({ messages: 0, entries: 0 });
  next.follow(sequence);
  expect(next.number({ type: "text_delta", text: "c" }).seq).toBe(23);
  sequence.follow(new EventSequence({ messages: 0, entries: 0 }));
  expect(sequence.number({ type: "text_delta", text: "d" }).seq).toBe(23);
});
