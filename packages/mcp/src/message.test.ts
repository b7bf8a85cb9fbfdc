import { parseSpelled } from "@reins/kit";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorIn, kindOf, readMessages, sameId, toNearlyPlain, toPlain } from "./message.ts";

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

describe("exact JSON", () => {
  test.each([
    '{"a":1.0,"b":[1e2,-0,0.10,12345678901234567890],"c":"1.0"}',
    "1E400",
    '{"__proto__":{"x":1.50},"constructor":1}',
    '"\\ud800"',
    "0.1",
  ])("is written as it was read: %s", (text) => {
    expect(JSON.stringify(parseSpelled(text))).toBe(text);
  });

  test("loses nothing that JSON can say", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parseSpelled(text))).toBe(text);
        expect(toPlain(parseSpelled(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("gives up on what is nested without end", () => {
    expect(() => parseSpelled("[".repeat(600) + "]".repeat(600))).toThrow("nested deeper than 512");
    expect(() => parseSpelled("[".repeat(500) + "]".repeat(500))).not.toThrow();
  });
});

describe("plain data", () => {
  test("is the same object where there is nothing to change", () => {
    const value = parseSpelled('{"a":[1,{"b":0.5}],"c":null}');
    expect(toPlain(value)).toBe(value);
  });

  test("has numbers for what was only spelled differently", () => {
    expect(toPlain(parseSpelled('{"a":[1.0,1e2,{"b":-0}]}'))).toEqual({
      a: [1, 100, { b: JSON.rawJSON("-0") }],
    });
    expect(toPlain(parseSpelled("10000000000000000000000"))).toBe(1e22);
  });

  test.each(["12345678901234567891", "-9007199254740993", "1e400"])(
    "keeps the digits of %s, which does not fit",
    (number) => {
      const value = parseSpelled(`{"n":${number}}`);
      expect(JSON.stringify(toPlain(value))).toBe(`{"n":${number}}`);
      expect(toNearlyPlain(value)).toEqual({ n: Number(number) });
    },
  );
});
