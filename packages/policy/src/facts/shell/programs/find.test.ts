import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { requirement } from "../../../../../../scripts/test/requirement.ts";
import { Machine } from "../../../../test/machine.ts";
import { isHarmless } from "../../../conditions/conditions.ts";

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.lay();
  const folder = join(machine.workspace, "found");
  mkdirSync(join(folder, "deep"), { recursive: true });
  for (const name of ["a", "b.log", "deep/a", "deep/c"]) writeFileSync(join(folder, name), "x");
  symlinkSync(join(machine.folder, "home/.ssh/id_ed25519"), join(folder, "deep/link"));
});
afterAll(() => machine[Symbol.asyncDispose]());

const harmless = async (command: string) => isHarmless(await machine.facts(command));

/** In `trap`, `a.ts` is a link to a key. Each expression, and whether the link gets to the action. */
const REACHING: readonly (readonly [expression: string, reaches: boolean])[] = [
  ["ACTION", true],
  ["-name zzz ACTION", false],
  ["-iname ZZZ ACTION", false],
  ["-name 'a*' ACTION", true],
  ["-name zzz -o ACTION", true],
  ["-name zzz -or ACTION", true],
  ["ACTION -name zzz", true],
  ["-name zzz , ACTION", true],
  ["! -name zzz ACTION", true],
  ["-not -name zzz ACTION", true],
  ["! ! -name zzz ACTION", false],
  ["-name zzz -a ACTION", false],
  ["-name zzz -and -true ACTION", false],
  ["\\( -name zzz -o -name yyy \\) ACTION", false],
  ["\\( -name zzz -o -size 1 \\) ACTION", true],
  ["! \\( -name zzz \\) ACTION", true],
  ["\\( -name zzz , -true \\) ACTION", true],
  ["\\( -name zzz ACTION \\)", false],
  ["-name zzz \\( ACTION \\)", false],
  ["\\( -true -o -name zzz ACTION \\)", false],
  ["\\( ACTION -o -name zzz \\)", true],
  ["-type f ACTION", false],
  ["-type f -o ACTION", true],
  ["ACTION -type f", true],
  ["! -type f ACTION", true],
  ["\\( -type f -o -type d \\) ACTION", true],
  ["\\( -type f -name a -o -type f -name b \\) ACTION", false],
  ["-xtype f ACTION", true],
  ["-exec echo -type f \\; ACTION", true],
  ["-maxdepth 1 -name zzz ACTION", false],
];

/** Ways to have a program read what is found. */
const ACTIONS: readonly string[] = ["-exec cat {} +", "-exec cat {} ';'", "-ok cat {} ';'"];

describe("find runs a program on whatever gets to it", () => {
  describe.each(ACTIONS)("by %s", (action) => {
    test.each(REACHING)("%s", async (expression, reaches) => {
      expect(await harmless(`find trap ${expression.replace("ACTION", action)}`)).toBe(!reaches);
    });
  });

  test.each(REACHING)("by what it prints: %s", async (expression, reaches) => {
    const printed = `find trap ${expression.replace("ACTION", "-print0")} | xargs -0 cat`;
    // Of the kind of what is found, the pipe says nothing.
    expect(await harmless(printed)).toBe(!reaches && /-i?name/.test(expression));
  });

  it.each([
    ["find many -name '*.txt' -exec cat {} +", true],
    ["find many -name '[.]e*' -exec cat {} +", false],
    ["find many -name '?env' -exec cat {} +", false],
    ["find many -iname '.ENV' -exec cat {} +", false],
    ["find many -name '*' -exec cat {} +", false],
    ["find many -type f -exec cat {} +", false],
    ["find many -name '*nv' -print0 | xargs -0 cat", false],
    ["find . -type f -name '*.sh' -exec cat {} +", true],
    ["find . -path './many/*' -exec cat {} +", false],
  ])("and names say whether that may be a key: %s", async (command, expected) => {
    expect(await harmless(command)).toBe(expected);
  });

  it("asks about everything where nothing keeps it from what it deletes", async () => {
    const doubt = "everything in the session's folder may be replaced or removed";
    for (const expression of ["-delete", "-delete -name x", "-name x -o -delete", "-name x , -delete"])
      expect((await machine.facts(`find . ${expression}`)).doubts, expression).toContain(doubt);
    for (const expression of ["-name x -delete", "\\( -name x -o -name y \\) -delete"])
      expect((await machine.facts(`find . ${expression}`)).doubts, expression).not.toContain(doubt);
  });
});

const primary = fc.constantFrom(
  "-name a",
  "-name c",
  "-name '*.log'",
  "-name link",
  "-iname LINK",
  "-name '*'",
  "-type f",
  "-type d",
  "-type l",
  "-xtype f",
  "-true",
  "-false",
  "-empty",
  "-maxdepth 2",
  "-path '*deep*'",
  "-prune",
  "-exec true {} ';'",
  "-exec false {} ';'",
);
const { expression } = fc.letrec<{ expression: string; term: string }>((tie) => ({
  term: fc.oneof(
    { withCrossShrink: true, depthSize: "small" },
    { weight: 5, arbitrary: primary },
    { weight: 2, arbitrary: fc.constant("ACTION") },
    { weight: 1, arbitrary: tie("term").map((term) => `! ${term}`) },
    { weight: 2, arbitrary: tie("expression").map((inner) => `\\( ${inner} \\)`) },
  ),
  expression: fc
    .tuple(
      tie("term"),
      fc.array(fc.tuple(fc.constantFrom(" ", " ", " -a ", " -o ", " , "), tie("term")), { maxLength: 3 }),
    )
    .map(([first, rest]) => first + rest.flat().join("")),
}));

const isThere = spawnSync("find", ["--version"], { encoding: "utf8" }).stdout?.includes("GNU") === true;

requirement(
  "GNU find",
  isThere,
  "there is none here",
)("find of this machine", () => {
  /** Whether the link gets to the action, as find itself says. */
  function reachesLink(text: string): boolean {
    const command = `find found ${text.replaceAll("ACTION", "-exec echo reached {} ';'")}`;
    const { stdout } = spawnSync("sh", ["-c", command], { cwd: machine.workspace, encoding: "utf8" });
    return /^reached \S*link$/m.test(stdout);
  }

  it("reaches no key by an expression that we say is harmless", async () => {
    let [reached, kept] = [0, 0];
    await fc.assert(
      fc.asyncProperty(expression, async (inner) => {
        const text = inner.includes("ACTION") ? inner : `${inner} ACTION`;
        const isSafe = await harmless(`find found ${text.replaceAll("ACTION", "-exec cat {} ';'")}`);
        if (isSafe) kept += 1;
        if (!reachesLink(text)) return;
        reached += 1;
        expect(isSafe, text).toBe(false);
      }),
      { numRuns: Number(process.env.REINS_FIND_RUNS ?? 60) },
    );
    expect([reached, kept].every((count) => count > 0)).toBe(true);
  }, 120_000);
});
