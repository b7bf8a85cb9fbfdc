import { expect, test } from "vitest";
import { Sequence } from "./sessions.ts";

test("numbers grow, and begin above all that were given for what is on the disk", () => {
  const sequence = new Sequence({ messages: 2, entries: 3 });
  const numbers = ["a", "b"].map((text) => sequence.number({ type: "text_delta", text }));
  expect(numbers).toEqual([
    { type: "text_delta", text: "a", seq: 21 },
    { type: "text_delta", text: "b", seq: 22 },
  ]);
  const next = new Sequence({ messages: 0, entries: 0 });
  next.follow(sequence);
  expect(next.number({ type: "text_delta", text: "c" }).seq).toBe(23);
  sequence.follow(new Sequence({ messages: 0, entries: 0 }));
  expect(sequence.number({ type: "text_delta", text: "d" }).seq).toBe(23);
});
