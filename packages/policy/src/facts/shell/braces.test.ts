import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, it, test } from "vitest";
import { requirement } from "../../../../../scripts/test/requirement.ts";
import { expandBraces } from "./expand.ts";
import type { Part, Word } from "./syntax.ts";

const BASH = "/bin/bash";
const hasBash = spawnSync(BASH, ["-c", `exit \${BASH_VERSINFO[0]}`]).status === 5;

/** The words that we make of one; `undefined` where we cannot. */
function ours(text: string): readonly string[] | undefined {
  const words = expandBraces([{ kind: "text", text, quoted: false }]);
  const isKnown = words?.flat().every(({ kind }) => kind === "text");
  return isKnown ? words?.map(plain).filter((word) => word !== "") : undefined;
}

function plain(word: Word): string {
  return word.map((part: Part) => (part.kind === "text" ? part.text : "")).join("");
}

/** The words that bash makes of each of some. */
function bashes(texts: readonly string[]): readonly (readonly string[])[] {
  const lines = texts.map((text) => `set -f; printf '%s\\0' ${text}; printf '\\1\\0'`);
  const { stdout } = spawnSync(BASH, ["--norc", "-c", lines.join("\n")], { encoding: "utf8" });
  const lists = stdout.split("\u0001\0").slice(0, -1);
  return lists.map((list) => list.split("\0").filter((word) => word !== ""));
}

const digits = fc.constantFrom("0", "1", "3", "7", "00", "01", "03", "010", "12", "007");
const number = fc.tuple(fc.constantFrom("", "", "-", "+"), digits).map(([sign, text]) => sign + text);
const letter = fc.constantFrom("a", "c", "e", "X", "Z", "b");
const steps = fc.oneof(
  fc.constant(""),
  number.map((step) => `..${step}`),
);
const ends = fc.oneof(
  fc.tuple(number, number),
  fc.tuple(letter, letter),
  fc.tuple(letter, number),
  fc.tuple(number, letter),
);
const range = fc.tuple(ends, steps).map(([[from, to], step]) => `{${from}..${to}${step}}`);
const { word } = fc.letrec<{ word: string; list: string }>((tie) => ({
  list: fc.array(tie("word"), { minLength: 0, maxLength: 3 }).map((items) => `{${items.join(",")}}`),
  word: fc
    .array(
      fc.oneof(
        { withCrossShrink: true, depthSize: "small" },
        { weight: 4, arbitrary: fc.constantFrom("", "a", "b.c", "{", "}", ",", "..", "x", "1", "a..b") },
        { weight: 3, arbitrary: range },
        { weight: 2, arbitrary: tie("list") },
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((parts) => parts.join("")),
}));

requirement(
  "bash 5",
  hasBash,
  "there is none here",
)("braces", () => {
  const agreed = (texts: readonly string[]) => {
    const told = texts.map((text) => [text, ours(text)] as const).filter(([, words]) => words !== undefined);
    const theirs = bashes(told.map(([text]) => text));
    expect(told).toEqual(told.map(([text], at) => [text, theirs[at]]));
    return told.length / texts.length;
  };

  test.each([
    ["zeros in front of the second number", "f{1..03} f{8..010}"],
    ["zeros in front of numbers below nothing", "f{-01..1} f{-05..-1} f{00..-1}"],
    ["signs", "f{+1..3} f{01..+3} f{+01..2} f{1..+02}"],
    ["steps", "{1..9..3} {9..1..3} {1..9..-3} {1..3..0} {a..i..3} {0..010..5}"],
    ["letters of both cases", "{X..Z} {x..z} {z..x}"],
    ["no numbers at all", "{a..3} {1..a} {..3} {1..} {1...3} {-a..b}"],
    ["lists in lists", "{a,{b,c}d}e {{1..2},x} {a,b}{c,d}"],
    ["braces that are never closed", "{a,b {{a,b} {a,b}} {a,{b} {a}{b} {}x{}"],
    ["nothing", "x{,y} {a,}{,b} {} {a} x{}y"],
  ])("are read as bash reads them: %s", (_, texts) => {
    expect(agreed(texts.split(" "))).toBe(1);
  });

  it("are read as bash reads them, whatever they hold, or not at all", () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 20, maxLength: 40 }), (texts) => {
        expect(agreed(texts)).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
  });
});

it.each([
  "{Z..a}",
  "{1..100}",
  "{9007199254740993..9007199254740994}",
  "{a,b}".repeat(7),
  "a{b}c,d}",
  "{x}y,.env}",
  "{{0..0}a..b}",
])(
  "%s is not told: signs that quote, more words than are listed, numbers that are not exact, ends that may be others",
  (text) => {
    expect(ours(text)).toBeUndefined();
  },
);

it("what is quoted, or stands in a variable, makes no braces", () => {
  const quoted: Word = [
    { kind: "text", text: "{a", quoted: false },
    { kind: "text", text: ",", quoted: true },
    { kind: "text", text: "b}", quoted: false },
  ];
  expect(expandBraces(quoted)?.map(plain)).toEqual(["{a,b}"]);
  const variable: Word = [
    { kind: "text", text: "{1..", quoted: false },
    { kind: "variable", name: "n", quoted: false },
    { kind: "text", text: "}", quoted: false },
  ];
  expect(expandBraces(variable)).toHaveLength(1);
});
