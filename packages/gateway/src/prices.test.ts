import { expect, test } from "vitest";
import { PriceList } from "./prices.ts";

const MILLION = { input: 1e6, output: 1e6, cache_read: 1e6, cache_write: 1e6 };

test("the table has a date, and a price counts for the versions of a model alone", () => {
  const prices = new PriceList();
  expect(prices.date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  expect(prices.cost("claude-sonnet-4-5", MILLION)).toBeCloseTo(3 + 15 + 0.3 + 3.75);
  expect(prices.cost("claude-sonnet-4-5-20250929", MILLION)).toBe(prices.cost("claude-sonnet-4-5", MILLION));
  expect(prices.cost("gpt-4o-2024-08-06", MILLION)).toBe(prices.cost("gpt-4o", MILLION));
  // Another model, whose name only begins like it.
  expect(prices.cost("gpt-5.55", MILLION)).toBeUndefined();
  expect(prices.cost("constructor", MILLION)).toBeUndefined();
});

test("a call with a long input is counted at the price of long inputs, cached or not", () => {
  const prices = new PriceList();
  const counts = { input: 100_000, output: 1e6, cache_read: 100_000, cache_write: 0 };
  expect(prices.cost("gemini-2.5-pro", counts)).toBeCloseTo(0.125 + 10 + 0.0125);
  expect(prices.cost("gemini-2.5-pro", { ...counts, cache_read: 100_001 })).toBeCloseTo(0.25 + 15 + 0.025, 5);
});

test("models without a price are counted at the one that the operator states for them", () => {
  const prices = new PriceList({}, { input: 30, output: 150 });
  expect(prices.cost("unheard-of", MILLION)).toBe(30 + 150 + 30 + 30);
  expect(prices.priceOf("unheard-of")).toBeUndefined();
  expect(prices.cost("gpt-5", MILLION)).toBe(new PriceList().cost("gpt-5", MILLION));
});

test("the operator's prices replace those of the table", () => {
  const prices = new PriceList({ "gpt-5": { input: 1, output: 2 }, own: { input: 0, output: 0 } });
  expect(prices.cost("gpt-5", MILLION)).toBe(1 + 2 + 1 + 1);
  expect(prices.cost("own", MILLION)).toBe(0);
});
