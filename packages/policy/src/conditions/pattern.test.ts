import fc from "fast-check";
import { expect, test } from "vitest";
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
