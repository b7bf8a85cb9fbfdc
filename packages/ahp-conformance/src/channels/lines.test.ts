import { expect, test } from "vitest";
import { Lines } from "./lines.ts";

test("cuts lines wherever the chunks end, also in the middle of a character", () => {
  const lines = new Lines();
  const bytes = Buffer.from('{"a":"✓"}\r\n\n{"b":1}\nrest');
  const cut = bytes.indexOf("✓") + 1;
  expect(lines.push(bytes.subarray(0, cut))).toEqual([]);
  expect(lines.push(bytes.subarray(cut))).toEqual(['{"a":"✓"}', "", '{"b":1}']);
  expect(lines.push(Buffer.from("\n"))).toEqual(["rest"]);
});

test("does not let a line grow out of bounds", () => {
  const lines = new Lines();
  const chunk = Buffer.alloc(16 * 1024 * 1024, "x");
  for (let count = 0; count < 4; count += 1) lines.push(chunk);
  expect(() => lines.push(Buffer.from("x"))).toThrow(RangeError);
});
