import * as fc from "fast-check";
import { expect, test } from "vitest";
import { quoted, shown } from "./shown.ts";

test.each([
  ["plain words, ünïcödé 漢字 😀", "plain words, ünïcödé 漢字 😀"],
  ['"quoted" and C:\\new', '"quoted" and C:\\new'],
  ["line\nfeed\ttab\0\u001b[31m", "line\\nfeed\\ttab\\u0000\\u001b[31m"],
  ["\u202etxt.exe\u202c zero\u200bwidth", "\\u202etxt.exe\\u202c zero\\u200bwidth"],
  ["half \ud800", "half \\ud800"],
])("%j is shown as %s", (text, expected) => {
  expect(shown(text)).toBe(expected);
});

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;

test("whatever is quoted, each line is marked and nothing is hidden", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const lines = quoted(text).split("\n");
      expect(lines.filter((line) => !line.startsWith("> ") || HIDDEN.test(line))).toEqual([]);
    }),
  );
});
