import { expect, test } from "vitest";
import { backendOf, derivedKey, standingKey } from "./sessions.ts";

test("HAAK's backend names map to agents of the catalogue", () => {
  expect(["native", "anthropic", "claude_code", "claude-code", "codex"].map(backendOf)).toEqual([
    "native",
    "native",
    "claude",
    "claude",
    "codex",
  ]);
});

test("a derived key escapes separators in the agent's id", () => {
  expect(derivedKey("reed", "u-1")).toBe("reed:ws:u-1");
  expect(derivedKey("a:b/c%", "u-1")).toBe("a%3Ab%2Fc%25:ws:u-1");
  expect(standingKey("reed")).toBe("reed:cli:local");
});

test.each(Object.getOwnPropertyNames(Object.prototype))("the property name %s maps to no agent", (name) => {
  expect(backendOf(name)).toBe(name);
});
