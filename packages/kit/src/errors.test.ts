import { expect, test } from "vitest";
import { errorCode, errorMessage } from "./errors.ts";

test.each([
  [new TypeError("no"), "no"],
  ["text", "text"],
  [undefined, "undefined"],
  [Object.create(null), "a value without a text was thrown"],
])("errorMessage has a text for anything that is thrown: %s", (thrown, text) => {
  expect(errorMessage(thrown)).toBe(text);
});

test("errorCode is the code of a system error only", () => {
  expect(errorCode(Object.assign(new Error("no"), { code: "ENOENT" }))).toBe("ENOENT");
  expect([errorCode(new Error("no")), errorCode({ code: "ENOENT" }), errorCode(null)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
