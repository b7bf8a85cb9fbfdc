import { describe, expect, test } from "vitest";
import { compilePattern } from "./glob.ts";

const matches = (pattern: string, path: string) => compilePattern(pattern)?.(path);

describe("a pattern of list_files", () => {
  test.each([
    ["*", "a.ts", true],
    ["*", "src/a.ts", false],
    ["*.ts", "a.ts", true],
    ["*.ts", ".hidden.ts", true],
    ["**/*.ts", "a.ts", true],
    ["**/*.ts", "src/deep/a.ts", true],
    ["src/**", "src/deep/a.ts", true],
    ["src/**/a.ts", "src/a.ts", true],
    ["src/*.{ts,md}", "src/a.md", true],
    ["src/*.{ts,md}", "src/a.js", false],
    ["./src/?.ts", "src/a.ts", true],
    ["{a,b{c,d}}.txt", "bd.txt", true],
  ])("%s against %s", (pattern, path, expected) => expect(matches(pattern, path)).toBe(expected));

  test("matches in bounded time, whatever it holds", () => {
    const letters = "a".repeat(4_000);
    const begun = process.cpuUsage();
    expect(matches(`${"*a".repeat(200)}b`, letters)).toBe(false);
    expect(matches(`${"**/*a*/".repeat(50)}b`, "aaaa/".repeat(200))).toBe(false);
    expect(process.cpuUsage(begun).user).toBeLessThan(5_000_000);
  });

  test("with too many alternatives is rejected", () => {
    expect(compilePattern("{a,b}".repeat(10))).toBeUndefined();
  });
});
