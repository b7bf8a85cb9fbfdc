import { expect, it } from "vitest";
import { formatValue } from "./format-value.ts";

it("formats values of a constitution on one line", () => {
  expect(formatValue({ any: { destroys: true, place: ["home", "system"] } })).toBe(
    "any destroys yes, place home or system",
  );
  expect(formatValue(["read_file", "search"])).toBe("read_file or search");
  expect(formatValue(undefined)).toBe("");
});
