import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  about,
  bytes,
  count,
  dollars,
  duration,
  formatValue,
  visible,
  visibleLine,
  words,
} from "./format.ts";

it("formats counts, money, bytes and durations", () => {
  expect([count(1_234_567), about(1_234)]).toEqual(["1,234,567", "1.2K"]);
  expect([bytes(0), bytes(900), bytes(1_536), bytes(250 * 1024 * 1024)]).toEqual([
    "0 B",
    "900 B",
    "1.5 KB",
    "250 MB",
  ]);
  expect([dollars(0), dollars(0.00123), dollars(12.5)]).toEqual(["$0.00", "$0.0012", "$12.50"]);
  expect([0.042, 42, 4_200, 90_000, 7_200_000].map(duration)).toEqual([
    "0.04 ms",
    "42 ms",
    "4.2 s",
    "1.5 min",
    "2.0 h",
  ]);
});

it("formats values of a constitution on one line", () => {
  expect(formatValue({ any: { destroys: true, place: ["home", "system"] } })).toBe(
    "any destroys yes, place home or system",
  );
  expect(formatValue(["read_file", "search"])).toBe("read_file or search");
  expect(formatValue(undefined)).toBe("");
});

describe("amounts", () => {
  test.each([
    [0, "0"],
    [999, "999"],
    [1_000, "1K"],
    [12_345, "12.3K"],
    [2_500_000, "2.5M"],
  ])("of %d are about %s", (number, text) => {
    expect(about(number)).toBe(text);
  });

  test.each([
    [1, "1 B"],
    [1_023, "1023 B"],
    [1_024, "1.0 KB"],
    [100 * 1_024, "100 KB"],
    [1_024 ** 3, "1.0 GB"],
    [5_000 * 1_024 ** 4, "5000 TB"],
    [0.5, "1 B"],
  ])("of %d bytes read %s", (number, text) => {
    expect(bytes(number)).toBe(text);
  });

  test.each([
    [0, "0 ms"],
    [9.994, "9.99 ms"],
    [10, "10 ms"],
    [999, "999 ms"],
    [1_000, "1.0 s"],
    [59_900, "59.9 s"],
    [60_000, "1.0 min"],
    [3_600_000, "1.0 h"],
  ])("of %d milliseconds read %s", (milliseconds, text) => {
    expect(duration(milliseconds)).toBe(text);
  });

  test.each([
    [0.009, "$0.009"],
    [0.0000123, "$0.000012"],
    [0.01, "$0.01"],
    [1_234.5, "$1,234.50"],
  ])("of %d dollars read %s", (number, text) => {
    expect(dollars(number)).toBe(text);
  });
});

test.each([
  [true, "yes"],
  [false, "no"],
  [null, ""],
  [0, "0"],
  ["", ""],
  [[], ""],
  [{}, ""],
  [[true, { a: 1 }], "yes or a 1"],
])("the value %j of a constitution reads %j", (value, text) => {
  expect(formatValue(value)).toBe(text);
});

test("names read as words", () => {
  expect(words("policy_change")).toBe("policy change");
  expect(words("max_turn_requests")).toBe("max turn requests");
  expect(words("ask")).toBe("ask");
});

/** Reads the escapes back. */
const original = (shown: string) =>
  shown.replaceAll(/⟨U\+([0-9A-F]+)⟩/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)));

describe("visible text", () => {
  test.each([
    ["plain words, ünïcödé 漢字 😀", "plain words, ünïcödé 漢字 😀"],
    ["a\u202eb", "a⟨U+202E⟩b"],
    ["\u3164\u2800\ue000\u0378", "⟨U+3164⟩⟨U+2800⟩⟨U+E000⟩⟨U+0378⟩"],
    ["half \ud800", "half ⟨U+D800⟩"],
    ["\u{e0041}", "⟨U+E0041⟩"],
    ["\r\0\u001b", "⟨U+000D⟩⟨U+0000⟩⟨U+001B⟩"],
    ["⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"],
  ])("escapes the hidden characters of %j", (text, shown) => {
    expect(visible(text)).toBe(shown);
    expect(visibleLine(text)).toBe(shown);
  });

  test("keeps line feeds and tabs in a block and escapes them on a line", () => {
    expect(visible("a\n\tb")).toBe("a\n\tb");
    expect(visibleLine("a\n\tb")).toBe("a⟨U+000A⟩⟨U+0009⟩b");
  });

  test("shows different texts differently", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom(..."⟨U+202E⟩\n\u202e") }),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(original(visible(given))).toBe(given);
        expect(original(visibleLine(given))).toBe(given);
      }),
    );
  });
});
