import { describe, expect, it, test } from "vitest";
import { isPlainAwk, isPlainSed } from "./editors.ts";
import { awkMayLoop, endsInput, hasWideFormat, jqMayLoop } from "./words.ts";

describe("a script of sed", () => {
  test.each([
    "",
    "p",
    "1p",
    "1,5p",
    "$d",
    "/x/d",
    "/x/,/y/d",
    "/x/I,+3d",
    "1~2p",
    "2!d",
    "s/a/b/",
    "s/a/b/gI2",
    "s|a/b|c|",
    "s#a#b#;s#c#d#",
    "s/[/]x/y/".replace("[/]", "[x]"),
    "s/a\\/b/c/",
    "y/abc/xyz/",
    "a text",
    "i\\ text",
    "1p\n2p",
    "  p ; d  ",
  ])("that only prints and replaces is plain: %j", (script) => {
    expect(isPlainSed(script)).toBe(true);
  });

  test.each([
    "w out",
    "1w out",
    "s/a/b/w out",
    "s/a/b/e",
    "s/a/b/ge",
    "e",
    "e id",
    "1e id",
    "r /etc/passwd",
    "R file",
    "W file",
    "b label",
    ":label",
    "t",
    "{p}",
    "s/[/]/w out/",
    "s/a/b\nw out",
    "s,a,b,;w out",
    "sxaxbx",
    "p w",
    "\\%x%d",
    "F",
    "z",
    "x".repeat(10_001),
  ])("that may do more is not: %j", (script) => {
    expect(isPlainSed(script)).toBe(false);
  });
});

describe("a script of awk", () => {
  test.each([
    "{print}",
    "{print $1, $NF}",
    '{print "a > b"}',
    "$1 > 3",
    "$1 > 3 {print}",
    "{print ($1 > 3)}",
    "/x/ {n++} END {print n}",
    "/a|b/",
    "/[|>]/ {print}",
    "NR==1, NR==5",
    "{sum += $1} END {print sum / NR}",
    '{printf "%s\\n", $1}',
    "{a[$1]++} END {for (k in a) print k, a[k]}",
    "# print > x\n{print}",
    "{ if ($1 > $2) print $1 }",
    '$1 == "system"',
    "length($0) > 80",
  ])("that only prints is plain: %j", (script) => {
    expect(isPlainAwk(script)).toBe(true);
  });

  test.each([
    '{print > "x"}',
    '{print >> "x"}',
    '{print $1 > "x"}',
    '{print($1) > "x"}',
    '{print | "sh"}',
    '"id" | getline',
    '{getline x < "/etc/passwd"}',
    '{system("id")}',
    'BEGIN{system("id")}',
    '{print ENVIRON["X"]}',
    '{ARGV[1]="x"}',
    '@load "x"',
    '@include "x"',
    "{close(x)}",
    '{print "a',
    "{print \\",
    "/unclosed",
    "(a) / b > c | d /",
    "BEGIN{PROCINFO[1]}",
    '{SYMTAB["x"]=1}',
  ])("that reaches out is not: %j", (script) => {
    expect(isPlainAwk(script)).toBe(false);
  });

  it("may go round for ever where nothing bounds it", () => {
    for (const script of ["BEGIN{while(1);}", "{do x++; while(y)}", "{for(;;) x++}", "function f() {f()}"])
      expect(awkMayLoop(script), script).toBe(true);
    for (const script of [
      "{for (i=1; i<=NF; i++) print $i}",
      "{for (k in a) print k}",
      '{print "while"}',
      "{print}",
    ])
      expect(awkMayLoop(script), script).toBe(false);
  });
});

describe("amounts", () => {
  it("of jq's filters are bounded, or not", () => {
    for (const filter of [
      "repeat(1)",
      "range(1000000000)",
      "def f: f; f",
      "[recurse]",
      '"x" * 99999',
      "until(false; .)",
    ])
      expect(jqMayLoop(filter), filter).toBe(true);
    for (const filter of [".", ".a[0]", "map(.x)", "range(10)", "[.[] | select(.a > 1)]"])
      expect(jqMayLoop(filter), filter).toBe(false);
  });

  it("of padding are noticed from six digits on", () => {
    for (const format of ["%999999d", "%-1000000s", "%0999999d", "%<(999999)"])
      expect(hasWideFormat(format), format).toBe(true);
    for (const format of ["%5d", "%99999s", "100%", "%s", "%.3f"])
      expect(hasWideFormat(format), format).toBe(false);
  });

  it("end with head by bytes, and by lines where there are some", () => {
    expect(endsInput(["head", "-c", "10"], ["cat", "/dev/zero"])).toBe(true);
    expect(endsInput(["head", "-n", "10"], ["cat", "/dev/zero"])).toBe(false);
    expect(endsInput(["head", "-n", "10"], ["yes"])).toBe(true);
    expect(endsInput(["head", "-c", "-10"], ["yes"])).toBe(false);
    expect(endsInput(["head", "-n", "-10"], ["yes"])).toBe(false);
    expect(endsInput(["head"], ["tr", "-d", "x"])).toBe(false);
  });
});
