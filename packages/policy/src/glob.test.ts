import fc from "fast-check";
import picomatch from "picomatch";
import { describe, expect, it } from "vitest";
import { compileGlob, globFault, matchesGlob } from "./glob.ts";

const matches = (glob: string, path: string) => matchesGlob(compileGlob(glob), path);

const name = fc.constantFrom("a", "b", "ab", "ba", ".c", "x.y", "abc", "a-b", "B", "1");
const part = fc.oneof(
  name,
  fc.constantFrom("*", "**", "?", "a*", "*b", "a*c", "*.y", ".*", "**b", "a**", "??"),
  fc.constantFrom(
    "{a,b}",
    "{a,ab}c",
    "{a/b,x.y}",
    "[ab]",
    "[^a]",
    "[a-c]?",
    "@(a|b)",
    "x{.y,}",
    "{a,{b,ba}}",
  ),
);
const glob = fc
  .tuple(fc.constantFrom("", "/", "./", "!"), fc.array(part, { minLength: 1, maxLength: 5 }))
  .map(([start, parts]) => `${start}${parts.join("/")}`);
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join("/"));

describe("a glob", () => {
  it("matches what picomatch says it matches, of ordinary globs", () => {
    fc.assert(
      fc.property(glob, path, (text, inside) => {
        // Where a wildcard or the root stands before `**`, picomatch has ways of its own, such as `*/**` not matching `a`.
        fc.pre(!/^!?(?:\.\/)?\/\*\*|[*?\])}][^/]*\/\*\*/.test(text));
        // Rules hold absolute globs against absolute paths, and the others against paths from a session's root.
        const given = text.startsWith("/") ? `/${inside}` : inside;
        expect([text, given, matches(text, given)]).toEqual([
          text,
          given,
          picomatch(text, { dot: true })(given),
        ]);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ["src/**", "src", true],
    ["**/*.{pem,key}", "a/b/server.key", true],
    ["db/migrations/**", "db/migrations/7.sql", true],
    ["a\\*b", "a*b", true],
    ["a\\*b", "axb", false],
    ["v{1..3}", "v2", true],
    ["{a}", "{a}", true],
    ["*", "größe 🎉", true],
    ["?", "🎉", true],
  ])("%s and %s: %s", (text, given, expected) => {
    expect(matches(text, given)).toBe(expected);
  });

  it.each(["!(a)", "x/+(a|b)", "*(a)", "?(a)b", "{a,b}".repeat(9), "x".repeat(3_000)])(
    "is refused if it cannot be matched in bounded time: %s",
    (text) => expect(globFault(text)).toEqual(expect.any(String)),
  );

  it("takes bounded time, whatever it and the path hold", () => {
    const hostile = [
      ...["*a", "?*", "*?a", "[a-z]*", "a*b*"].map((piece) => `${piece.repeat(30)}z`),
      `${"**/*a*/".repeat(20)}z`,
      `${"**/".repeat(50)}z`,
      `${"{a*,*a}".repeat(7)}z`,
    ];
    const paths = ["a".repeat(4_000), "a/".repeat(2_000), `${"ab".repeat(50)}/`.repeat(40)];
    const begin = process.cpuUsage().user;
    for (const text of hostile) for (const given of paths) matches(text, given);
    expect((process.cpuUsage().user - begin) / 1_000).toBeLessThan(3_000);
  });
});
