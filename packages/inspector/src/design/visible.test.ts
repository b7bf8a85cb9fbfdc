import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { visible, visibleLine } from "./visible.ts";

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
