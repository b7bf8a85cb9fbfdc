import { expect, it } from "vitest";
import { inline } from "./inline.ts";

it("formats values of a constitution on one line", () => {
  expect(inline({ any: { destroys: true, place: ["home", "system"] } })).toBe(
    "any destroys yes, place home or system",
  );
  expect(inline(["read_file", "search"])).toBe("read_file or search");
  expect(inline(undefined)).toBe("");
});
