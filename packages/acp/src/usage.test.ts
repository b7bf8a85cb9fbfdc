import { expect, test } from "vitest";
import { usageIn } from "./usage.ts";

test("what a turn used are the numbers that its answer tells, in snake_case", () => {
  const usage = { inputTokens: 5, outputTokens: 2, cachedReadTokens: 0, note: "much", odd: Number.NaN };
  expect(usageIn({ stopReason: "end_turn", usage })).toEqual({
    input_tokens: 5,
    output_tokens: 2,
    cached_read_tokens: 0,
  });
  expect([usageIn(undefined), usageIn({ usage: "none" })]).toEqual([{}, {}]);
});
