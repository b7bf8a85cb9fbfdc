import { expect, test } from "vitest";
import { backendOf } from "./open-session.ts";
import { derivedKey, standingKey } from "./sessions.ts";

test("a backend is an agent of the catalogue, whatever HAAK calls it", () => {
  expect(["native", "anthropic", "claude_code", "claude-code", "codex"].map(backendOf)).toEqual([
    "native",
    "native",
    "claude",
    "claude",
    "codex",
  ]);
});

test("a key is derived from the agent, which cannot divide it otherwise", () => {
  expect(derivedKey("reed", "u-1")).toBe("reed:ws:u-1");
  expect(derivedKey("a:b/c%", "u-1")).toBe("a%3Ab%2Fc%25:ws:u-1");
  expect(standingKey("reed")).toBe("reed:cli:local");
});

test.each(Object.getOwnPropertyNames(Object.prototype))("%s is no name of an agent here", (name) => {
  expect(backendOf(name)).toBe(name);
});
