import { describe, expect, test } from "vitest";
import { parseExact, parseJson } from "./parse.ts";

const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(",")}}`;
const objects = (count: number) => `[${Array(count).fill('{"a" : 1}').join(",")}]`;

describe("a text with very many members", () => {
  test.each([
    ["in one object", keys(200_001)],
    ["in many objects", objects(200_001)],
  ])("is refused before it is built: %s", (_, text) => {
    expect(() => parseJson(text)).toThrow("more than 200000 members");
    expect(() => parseExact(text)).toThrow("more than 200000 members");
  });

  test("is read up to the bound, and however many a string in it has", () => {
    const inside = JSON.stringify({ content: objects(250_000) });
    expect(Object.keys(Object(parseJson(keys(200_000)).value))).toHaveLength(200_000);
    for (const parse of [(text: string) => parseJson(text).value, parseExact])
      expect(Object(parse(inside)).content).toHaveLength(objects(250_000).length);
  });
});
