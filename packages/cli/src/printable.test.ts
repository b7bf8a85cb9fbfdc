import { expect, it } from "vitest";
import { commaList, nameList } from "./flags.ts";
import { printable, printableJson, printableLine, table } from "./printable.ts";

it("spells out what would control a terminal", () => {
  expect(printable("plain – ünïcödé 🐎\n\tindented")).toBe("plain – ünïcödé 🐎\n\tindented");
  expect(printable("\u001b[2J\r\u0007\u009b")).toBe("\\u{1b}[2J\\u{d}\\u{7}\\u{9b}");
  expect(printable("a\u202eb\u2028")).toBe("a\\u{202e}b\\u{2028}");
});

it("keeps text on one line", () => {
  expect(printableLine("a\nb\tc\r")).toBe("a\\u{a}b\\u{9}c\\u{d}");
});

it("keeps escaped JSON equal", () => {
  const value = { "\u202e": ["\u009b", "\u2028\u001b", "plain\n"], n: 1 };
  const text = printableJson(value);
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028]/u);
  expect(JSON.parse(text)).toEqual(value);
});

it("spells out every hidden character", () => {
  for (const hidden of [
    "\u200b",
    "\u200d",
    "\u2066",
    "\u{e0041}",
    "\u00ad",
    "\u3164",
    "\u00a0",
    "\ufeff",
    "\ue000",
  ]) {
    expect(printableLine(`a${hidden}b`)).toBe(`a\\u{${hidden.codePointAt(0)?.toString(16)}}b`);
    const text = printableJson({ [hidden]: hidden });
    expect(text).not.toContain(hidden);
    expect(JSON.parse(text)).toEqual({ [hidden]: hidden });
  }
});

it("aligns the columns of a table and cuts it to a width", () => {
  const rows = [
    ["agent", "trust", "mandate"],
    ["a-long-name", "-", "mandates/a.md"],
  ];
  expect(table(rows)).toBe("agent        trust  mandate\na-long-name  -      mandates/a.md\n");
  expect(table(rows, 24)).toBe("agent        trust  man…\na-long-name  -      man…\n");
  expect(table([])).toBe("");
});

it("reads names from one or several flags, separated by commas, or none", () => {
  expect(commaList("a, b", undefined)).toEqual(["a", "b"]);
  expect(commaList("c", ["a", "b"])).toEqual(["a", "b", "c"]);
  expect(commaList("", undefined)).toEqual([]);
  expect([nameList([], "none"), nameList(["*"], "none"), nameList(["a", "b"], "none")]).toEqual([
    "none",
    "all",
    "a, b",
  ]);
});
