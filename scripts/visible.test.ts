import { describe, expect, test } from "vitest";
import { printableLine } from "../packages/cli/src/output.ts";
import { visible, visibleLine } from "../packages/inspector/src/design/format.ts";
import { visibleJson } from "../packages/kit/src/hidden.ts";

/** Every code point, halves of surrogate pairs included. */
const CODE_POINTS = Array.from({ length: 0x11_0000 }, (_, code) => String.fromCodePoint(code));
/** What the page escapes beyond the supervisor: the bracket that opens its escapes. */
const PAGE_BRACKET = "⟨";
/** What the supervisor escapes beyond the page: JSON's own quotes. */
const JSON_QUOTES = ['"', "\\"];

const bySupervisor = CODE_POINTS.filter((one) => visibleJson(one) !== `"${one}"`);

describe("characters that an approval escapes", () => {
  test("are the same on the page as in the supervisor, for every code point", () => {
    const byPage = CODE_POINTS.filter((one) => visibleLine(one) !== one);
    expect(difference(byPage, bySupervisor)).toEqual([PAGE_BRACKET]);
    expect(difference(bySupervisor, byPage)).toEqual(JSON_QUOTES);
  });

  test("differ in a block of text on the page by line feed and tab only", () => {
    const inBlock = CODE_POINTS.filter((one) => visible(one) !== one);
    expect(difference(bySupervisor, inBlock)).toEqual(["\t", "\n", ...JSON_QUOTES]);
  });

  test("are the same on the command line as in the supervisor, for every code point", () => {
    const byCommand = CODE_POINTS.filter((one) => printableLine(one) !== one);
    expect(difference(byCommand, bySupervisor)).toEqual([]);
    expect(difference(bySupervisor, byCommand)).toEqual(JSON_QUOTES);
  });
});

function difference(some: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return some.filter((one) => !known.has(one));
}
