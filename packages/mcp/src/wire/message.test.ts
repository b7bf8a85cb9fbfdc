import { describe, expect, test } from "vitest";
import { errorIn, kindOf, readMessages, sameId } from "./message.ts";

describe("a message", () => {
  test.each([
    [{ method: "a", id: 1 }, "request"],
    [{ method: "a", id: null }, "request"],
    [{ method: "a", id: 1, result: {} }, "request"],
    [{ method: "a" }, "notification"],
    [{ id: 1, result: {} }, "response"],
    [{ method: 5, id: 1 }, "invalid"],
    [{ method: ["a"], id: 1, result: {} }, "invalid"],
    [{}, "invalid"],
  ])("%j is a %s", (message, kind) => {
    expect(kindOf(message)).toBe(kind);
  });

  test("may come with others, and what is no JSON is none", () => {
    expect(readMessages("[1,{}]")).toEqual([1, {}]);
    expect(readMessages("{}")).toEqual([{}]);
    expect(readMessages("{")).toBeUndefined();
  });

  test("has an id of any type, which is compared by how it is written", () => {
    expect(sameId({ a: [1] }, { a: [1] })).toBe(true);
    expect(sameId(1, "1")).toBe(false);
    expect(sameId(null, undefined)).toBe(false);
  });

  test("holds an error that can be read, even a bad one", () => {
    expect(errorIn({ error: { code: 1, message: "m", data: [] } })).toEqual({
      code: 1,
      message: "m",
      data: [],
    });
    expect(errorIn({ error: {} })).toEqual({ code: -32_603, message: "an error without a message" });
    expect(errorIn({ error: null })).toBeUndefined();
  });
});
