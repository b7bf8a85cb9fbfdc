import { expect, test } from "vitest";
import { homePrefix, markOf, ownerOf, ownerPrefix } from "./mark.ts";

const home = homePrefix("/var/lib/reins");
const mark = markOf(ownerPrefix("/var/lib/reins", 4_194_304), "6d02c268", 7);

test("a mark begins as all of its home and its owner do", () => {
  expect(mark.text).toBe(`${home.text}4194304.6d02c268`);
  expect(mark.brand).toBe(`${home.brand}4194304000007`);
});

test("a brand is a number that every shell and kernel can hold", () => {
  expect(mark.brand).toMatch(/^[1-9]\d{17}$/);
  expect(markOf(ownerPrefix("/", 1), "a", 123_456_789).brand).toMatch(/^\d{5}0000001456789$/);
});

test("either half tells the owner", () => {
  expect(ownerOf({ text: mark.text }, home)).toBe(4_194_304);
  expect(ownerOf({ brand: mark.brand }, home)).toBe(4_194_304);
});

test("marks of another home, and what is no mark, have no owner here", () => {
  const other = markOf(ownerPrefix("/home/somebody/reins", 12), "a", 1);
  expect(ownerOf(other, home)).toBeUndefined();
  expect(ownerOf({}, home)).toBeUndefined();
  expect(ownerOf({ text: `${home.text}x.y`, brand: "18446744073709551615" }, home)).toBeUndefined();
});
