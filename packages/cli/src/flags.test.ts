import { expect, it } from "vitest";
import { repeated, wholeNumber } from "./flags.ts";

it("collects the values of a repeated flag", () => {
  expect(repeated("b", repeated("a", undefined))).toEqual(["a", "b"]);
});

it("accepts only whole numbers", () => {
  expect(wholeNumber()("0", "--depth")).toBe(0);
  for (const text of ["", "-1", "1.5", "1e3", "ten", "99999999999999999999"]) {
    expect(() => wholeNumber()(text, "--depth")).toThrow("--depth");
  }
  expect(() => wholeNumber(1)("0", "--batch-size")).toThrow("--batch-size");
});
