import { expect, test } from "vitest";
import { homePrefix, markOf, ownerOf, ownerPrefix } from "./process-table.ts";

const home = homePrefix("/var/lib/reins");
const mark = markOf(ownerPrefix("/var/lib/reins", 4_194_304), "6d02c268", 7);

test("starts a mark with the prefixes of home and owner", () => {
  expect(mark.text).toBe(`${home.text}4194304.6d02c268`);
  expect(mark.brand).toBe(`${home.brand}4194304000007`);
});

test("makes a brand that fits every shell and kernel", () => {
  expect(mark.brand).toMatch(/^[1-9]\d{17}$/);
  expect(markOf(ownerPrefix("/", 1), "a", 123_456_789).brand).toMatch(/^\d{5}0000001456789$/);
});

test("finds the owner from either half of a mark", () => {
  expect(ownerOf({ text: mark.text }, home)).toBe(4_194_304);
  expect(ownerOf({ brand: mark.brand }, home)).toBe(4_194_304);
});

test("finds no owner for marks of another home and for other values", () => {
  const other = markOf(ownerPrefix("/home/other/reins", 12), "a", 1);
  expect(ownerOf(other, home)).toBeUndefined();
  expect(ownerOf({}, home)).toBeUndefined();
  expect(ownerOf({ text: `${home.text}x.y`, brand: "18446744073709551615" }, home)).toBeUndefined();
});
