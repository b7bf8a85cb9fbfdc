import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { pathGlob } from "../glob.ts";
import { textTest } from "./pattern.ts";

/** A pattern as one regular expression, which says the same and may take for ever. */
function plainly(pattern: string): RegExp {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "su");
}

test.each<[string, string, boolean]>([
  ["git *", "git push", true],
  ["git *", "git", false],
  ["*.env", ".env", true],
  ["*.env", ".environment", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["ab*ba", "aba", false],
  ["*a?c*", "xx a\nc", true],
  ["?", "\u{1f600}", true],
  ["??", "\u{1f600}", false],
  ["a**b", "ab", true],
  ["(a|b)*", "(a|b)c", true],
  ["(a|b)*", "ac", false],
])("%s and %j: %s", (pattern, text, fits) => {
  expect(textTest(pattern)(text)).toBe(fits);
});

test("a pattern says what it says in any regular expression", () => {
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "."), maxLength: 8 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", ".", "\n", "\u{1f600}"), maxLength: 12 });
  fc.assert(
    fc.property(pattern, text, (some, words) => {
      expect(textTest(some)(words)).toBe(plainly(some).test(words));
    }),
    { numRuns: 2_000 },
  );
});

test("a long text that almost fits is seen not to, however many stars there are", () => {
  const text = "rm".repeat(500_000);
  expect(textTest("*r*m*r*m*rm*-rf*")(text)).toBe(false);
  expect(textTest("*r*m*r?*rm*")(text)).toBe(true);
});

describe("a glob could match at or below a folder", () => {
  it.each([
    ["db/migrations/**", "db", "below"],
    ["db/migrations/**", "", "below"],
    ["db/migrations/**", "db/migrations", "here"],
    ["db/migrations/**", "db/migrations/old", "here"],
    ["db/migrations/**", "src", "nowhere"],
    ["db/migrations", "db", "below"],
    ["db/migrations", "db/migrations/old", "nowhere"],
    ["db/*.sql", "db", "below"],
    ["db/*.sql", "db/old", "nowhere"],
    ["**/*.pem", "src", "here"],
    ["src/**/*.pem", "src/a/b", "here"],
    ["src/**/*.pem", "lib", "nowhere"],
    ["{src,lib}/keys/*", "lib", "below"],
    ["{src/a,lib}/keys/*", "src", "below"],
    ["./src/*", "src", "below"],
    ["/home/**", "/", "below"],
    ["/home/**", "/home/ann", "here"],
    ["/home/**", "/srv", "nowhere"],
    ["!src/**", "src", "here"],
    ["db/", "db", "below"],
    ["/", "/", "here"],
  ])("%s and %s: %s", (glob, path, reach) => {
    expect(pathGlob(glob).reaches(path)).toBe(reach);
  });
});

describe("a glob covers a folder with all that is in it", () => {
  it.each([
    ["src/**", "src", true],
    ["src/**", "src/a/b", true],
    ["src/**", "", false],
    ["src/**", "lib", false],
    ["src/**/*", "src/a", true],
    ["src/**/*", "src", false],
    ["src/*", "src/a", false],
    ["src", "src", false],
    ["*", "src", false],
    ["src/**/*.ts", "src/a.ts", false],
    ["**", "", true],
    ["**", "a/b", true],
    ["!src/**", "lib", false],
    ["/w/**", "/w", true],
  ])("%s and %s: %s", (glob, path, covers) => {
    expect(pathGlob(glob).covers(path)).toBe(covers);
  });
});

const name = fc.constantFrom("a", "b", "ab", ".c", "x.y");
const part = fc.oneof(
  name,
  fc.constantFrom("*", "**", "?", "a*", "*b", "{a,b}", "{a/b,x}", "[ab]", "@(a|b)", "**b", ".*"),
);
const glob = fc
  .tuple(fc.constantFrom("", "/", "./", "!"), fc.array(part, { minLength: 1, maxLength: 4 }))
  .map(([start, parts]) => `${start}${parts.join("/")}`);
const names = fc.array(name, { maxLength: 3 });

describe("whatever the glob", () => {
  it("reaches every folder below which it matches something", () => {
    fc.assert(
      fc.property(glob, names, names, (text, above, below) => {
        const [start, made] = [text.startsWith("/") ? "/" : "", pathGlob(text)];
        const folder = `${start}${above.join("/")}`;
        const path = `${start}${[...above, ...below].join("/")}`;
        if (made.matches(path)) expect(made.reaches(folder)).not.toBe("nowhere");
      }),
      { numRuns: 3_000 },
    );
  });

  it("covers no folder below which something does not match", () => {
    fc.assert(
      fc.property(glob, names, names, (text, above, below) => {
        const [start, made] = [text.startsWith("/") ? "/" : "", pathGlob(text)];
        const path = `${start}${[...above, ...below].join("/")}`;
        if (path.length > start.length && made.covers(`${start}${above.join("/")}`))
          expect(made.matches(path)).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});
