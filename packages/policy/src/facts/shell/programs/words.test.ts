import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { knownValue, unknownValue, type Value } from "../value.ts";
import { readWords } from "./words.ts";

const TABLE = {
  flags: "abv",
  long: ["all", "verbose"],
  single: ["check"],
  digits: true,
  values: { o: "overwrite", output: "overwrite", n: "text", name: "text" },
  attached: { i: "backup", color: "text" },
  never: ["X", "exec"],
} as const;
const OPTIONS = { ...TABLE, long: [...TABLE.long], single: [...TABLE.single], never: [...TABLE.never] };

const values = (words: readonly string[]): Value[] => words.map(knownValue);

/** The words of a line sorted: options with their values, switches, operands, and how many doubts. */
function sorted(line: string, stopsAtOperand = false) {
  const read = readWords(values(line.split(" ").filter((word) => word !== "")), OPTIONS, { stopsAtOperand });
  return {
    values: read.options.map(({ name, value }) => `${name}=${value.text}`).join(" "),
    present: [...read.present].join(" "),
    operands: read.operands.map(({ text }) => text).join(" "),
    doubts: read.doubts.length,
  };
}

describe("the words of a program", () => {
  const rows: readonly (readonly [string, string, string, string, number])[] = [
    ["", "", "", "", 0],
    ["x y", "", "", "x y", 0],
    ["-a x", "", "a", "x", 0],
    ["-ab x", "", "a b", "x", 0],
    ["-o f x", "o=f", "o", "x", 0],
    ["-of x", "o=f", "o", "x", 0],
    ["-abo f x", "o=f", "a b o", "x", 0],
    ["-abof x", "o=f", "a b o", "x", 0],
    ["-o -a", "o=-a", "o", "", 0],
    ["-o", "", "o", "", 0],
    ["--output=f x", "output=f", "output", "x", 0],
    ["--output f x", "output=f", "output", "x", 0],
    ["--out f x", "output=f", "output", "x", 0],
    ["--output= x", "output=", "output", "x", 0],
    ["--all x", "", "all", "x", 0],
    ["--al x", "", "al", "x", 1],
    ["--verbose=2", "", "verbose", "", 0],
    ["--color x", "", "color", "x", 0],
    ["--color=red x", "color=red", "color", "x", 0],
    ["-i x", "", "i", "x", 0],
    ["-i.bak x", "i=.bak", "i", "x", 0],
    ["-5 x", "", "", "x", 0],
    ["-check x", "", "check", "x", 0],
    ["-X x", "", "X", "x", 1],
    ["--exec x", "", "exec", "x", 1],
    ["--exe x", "", "exec", "x", 1],
    ["--ex=y x", "", "exec", "x", 1],
    ["-q x", "", "q", "x", 1],
    ["--quiet x", "", "quiet", "x", 1],
    ["- x", "", "", "- x", 0],
    ["-- -a --all", "", "", "-a --all", 0],
    ["x -a", "", "a", "x", 0],
    ["x -- -a", "", "", "x -a", 0],
    ["--constructor x", "", "constructor", "x", 1],
  ];
  test.each(rows)("%j", (line, options, present, operands, doubts) => {
    expect(sorted(line)).toEqual({ values: options, present, operands, doubts });
  });

  it("end with the first operand where the rest is another program's", () => {
    expect(sorted("-a x -q", true)).toEqual({ values: "", present: "a", operands: "x -q", doubts: 0 });
    expect(sorted("-o f x --exec", true)).toEqual({
      values: "o=f",
      present: "o",
      operands: "x --exec",
      doubts: 0,
    });
  });

  it("are all operands of a program without options", () => {
    const read = readWords(values(["-a", "--", "x"]), { plain: true });
    expect(read.operands.map(({ text }) => text)).toEqual(["-a", "--", "x"]);
    expect(read.doubts).toEqual([]);
  });

  it("may be options where they are only known at run time", () => {
    expect(readWords([unknownValue(false)], OPTIONS).doubts).toHaveLength(1);
    expect(readWords([unknownValue(false, "-")], OPTIONS).doubts).toHaveLength(1);
    expect(readWords([unknownValue(true, "src/")], OPTIONS).doubts).toHaveLength(1);
    expect(readWords([unknownValue(false, "src/")], OPTIONS).doubts).toHaveLength(0);
    // Of a program that can only read, an option does no more than its operands.
    expect(readWords([unknownValue(false)], { flags: "ab", values: { f: "read" } }).doubts).toHaveLength(0);
  });

  it("are never lost: each is an option, a value or an operand", () => {
    const word = fc.constantFrom("-a", "-ab", "-o", "-of", "--output", "--output=f", "x", "y", "-q", "--all");
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (words) => {
        const { operands, options, present, doubts } = readWords(values(words), OPTIONS);
        const plain = words.filter((one) => !one.startsWith("-"));
        const taken = options.filter(({ value }) => plain.some((one) => one === value.text));
        expect(operands.length + taken.length).toBeGreaterThanOrEqual(plain.length);
        expect(doubts.length > 0).toBe(present.has("q"));
      }),
    );
  });

  it("make any option that is not listed a doubt, wherever it occurs", () => {
    const known = new Set(["a", "b", "v", "o", "n", "i", "X"]);
    const letter = fc
      .constantFrom(..."cdefghjklmpqrstuwyzABCDEFGHIJKLMNOPQRSTUVWYZ%@")
      .filter((one) => !known.has(one));
    fc.assert(
      fc.property(letter, fc.constantFrom("", "a", "ab"), fc.boolean(), (odd, before, isLast) => {
        const words = isLast ? ["x", `-${before}${odd}`] : [`-${before}${odd}`, "x"];
        expect(readWords(values(words), OPTIONS).doubts.length).toBeGreaterThan(0);
      }),
    );
  });
});
