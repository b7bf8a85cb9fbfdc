import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasHidden, quoteLines, visibleJson, visibleText } from "./hidden.ts";

describe("visible text", () => {
  test.each([
    ["plain words, ünïcödé 漢字 😀", '"plain words, ünïcödé 漢字 😀"'],
    ["line\nfeed\ttab\r\0\u001b[31m", '"line\\nfeed\\ttab\\r\\u0000\\u001b[31m"'],
    ["\u202etxt.exe\u202c", '"\\u202etxt.exe\\u202c"'],
    ["\u2066isolate\u2069 \u200emark \u061c", '"\\u2066isolate\\u2069 \\u200emark \\u061c"'],
    ["zero\u200bwidth\u200d\ufeff\u00ad\u3164", '"zero\\u200bwidth\\u200d\\ufeff\\u00ad\\u3164"'],
    ["tag \u{e0041} and \u{fe0f}", '"tag \\udb40\\udc41 and \\ufe0f"'],
    ["no\u00a0break\u2003space\u3000", '"no\\u00a0break\\u2003space\\u3000"'],
    ["\u2028\u2029\u0085\u007f", '"\\u2028\\u2029\\u0085\\u007f"'],
    ["half \ud800", '"half \\ud800"'],
    ['"quoted" and \\u202e', '"\\"quoted\\" and \\\\u202e"'],
  ])("of %j", (text, shown) => {
    expect(visibleJson(text)).toBe(shown);
    expect(hasHidden(text)).toBe(hasHidden(JSON.parse(shown)));
  });

  test("hides nothing and is the same text when read back", () => {
    const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(visibleJson(text)).not.toMatch(hidden);
        expect(JSON.parse(visibleJson(text))).toBe(text);
      }),
    );
  });

  test("of any JSON is the same JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        expect(JSON.parse(visibleJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    expect(visibleJson(undefined)).toBe("null");
    expect(visibleJson({ a: "\u202e" }, 2)).toBe('{\n  "a": "\\u202e"\n}');
  });
});

describe("text on one line", () => {
  test.each([
    ["plain words, ünïcödé 漢字 😀", "plain words, ünïcödé 漢字 😀"],
    ['"quoted" and C:\\new', '"quoted" and C:\\new'],
    ["line\nfeed\ttab\0\u001b[31m", "line\\nfeed\\ttab\\u0000\\u001b[31m"],
    ["\u202etxt.exe\u202c zero\u200bwidth", "\\u202etxt.exe\\u202c zero\\u200bwidth"],
    ["half \ud800", "half \\ud800"],
  ])("of %j is %s", (text, expected) => {
    expect(visibleText(text)).toBe(expected);
  });

  test("has every line marked and no hidden character when it is quoted", () => {
    const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const lines = quoteLines(text).split("\n");
        expect(lines.filter((line) => !line.startsWith("> ") || hidden.test(line))).toEqual([]);
      }),
    );
  });
});
