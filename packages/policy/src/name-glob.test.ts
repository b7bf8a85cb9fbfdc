import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { nameGlob } from "./glob.ts";

describe("a shell's glob", () => {
  it.each([
    ["*", "a", true],
    ["*", ".a", false],
    [".*", ".a", true],
    ["a*c", "abbc", true],
    ["a*c", "abb", false],
    ["a*b*c", "aXbXbXc", true],
    ["?", "é", true],
    ["?", "ab", false],
    ["[abc]x", "bx", true],
    ["[a-c]x", "dx", false],
    ["[!a-c]x", "dx", true],
    ["[^a]", "a", false],
    ["[]]", "]", true],
    ["[a", "[a", true],
    ["[a-]", "-", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a\\", "a\\", true],
    ["**", "ab", true],
    ["", "", true],
  ])("%s against %s: %s", (pattern, name, expected) => {
    expect(nameGlob(pattern)?.(name)).toBe(expected);
  });

  it("of classes that depend on the language is not read", () => {
    expect(nameGlob("[[:alpha:]]")).toBeUndefined();
  });

  it("of many stars takes no longer for that", () => {
    expect(nameGlob("*a".repeat(500))?.(`${"a".repeat(200)}b`)).toBe(false);
  });

  it("matches hidden names where that is asked for", () => {
    expect(nameGlob("*.json", { matchesDots: true })?.(".mcp.json")).toBe(true);
  });
});

const patterns = fc
  .array(
    fc.constantFrom(
      ..."abz.-!^]*?",
      "[",
      "[",
      "]",
      "[a-c]",
      "[!a]",
      "[^a]",
      "[]a]",
      "[!]a]",
      "[a-]",
      "[-a]",
      "[c-a]",
      "[a\\]b]",
      "[\\]]",
      "[a\\-c]",
      "[!-]",
      "[[]",
      "[.]",
      "[a-c-e]",
      "\\*",
      "\\?",
      "\\[",
      "\\\\",
      "\\a",
      "\\]",
      "**",
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => parts.join(""));
const matched = fc
  .array(fc.constantFrom(..."abcdez.-!^[]*?\\"), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(""));

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Whether each name fits the pattern beside it, as a shell says. */
function fitsIn(shell: string, pairs: readonly (readonly [string, string])[]): readonly boolean[] {
  // A pattern in a variable is taken as it is; `case` matches a dot in front as any other sign.
  const lines = pairs.map(
    ([pattern, name]) => `p=${quoted(pattern)}; case ${quoted(name)} in $p) printf y;; *) printf n;; esac`,
  );
  const { stdout } = spawnSync(shell, ["-c", lines.join("\n")], {
    encoding: "utf8",
    env: { LC_ALL: "C" },
  });
  return [...stdout].map((answer) => answer === "y");
}

describe.each(["/bin/bash", "/bin/dash"])("a glob that %s is given", (shell) => {
  requirement(
    shell,
    spawnSync(shell, ["-c", "exit 0"]).status === 0,
    "there is none here",
  )("too", () => {
    it("matches every name that the shell matches with it", () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(patterns, matched), { minLength: 200, maxLength: 200 }), (pairs) => {
          const theirs = fitsIn(shell, pairs);
          const missed = pairs.filter(
            ([pattern, name], at) =>
              theirs[at] && nameGlob(pattern, { matchesDots: true, ofAnyShell: true })?.(name) === false,
          );
          expect(theirs).toHaveLength(pairs.length);
          expect(missed).toEqual([]);
        }),
        { numRuns: Number(process.env.REINS_GLOB_RUNS ?? 10) },
      );
    });
  });
});
