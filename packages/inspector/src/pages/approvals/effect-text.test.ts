import { describe, expect, test } from "vitest";
import { effectText, saysAll } from "./effect-text.ts";

const write = { kind: "write", path: "/w/a", place: "workspace", destroys: false } as const;
const run = { kind: "exec" as const, command: "git", arguments: ["push"], opaque: false };

describe("an effect in words", () => {
  test("says what is done to which file", () => {
    expect(effectText({ kind: "read", path: "/w/a", place: "workspace" })).toBe("reads /w/a (workspace)");
    expect(effectText(write)).toBe("writes /w/a (workspace)");
    expect(effectText({ ...write, destroys: true })).toBe("overwrites or deletes /w/a (workspace)");
  });

  test("quotes words that could be taken for others, and tells what is not known", () => {
    expect(effectText({ ...run, arguments: ["-m", "two words; rm", null] })).toBe(
      'runs git -m "two words; rm" ⟨known only when it runs⟩',
    );
    expect(effectText({ ...run, command: "make", arguments: [], opaque: true })).toBe(
      "runs make (and whatever that runs)",
    );
  });

  test("names the host", () => {
    expect(effectText({ kind: "net", host: "example.org" })).toBe("reaches example.org");
    expect(effectText({ kind: "net", host: "*" })).toBe("reaches any host");
  });
});

test("an always is for the effects where they say all, and else for the exact arguments", () => {
  const facts = { tool: "t", effects: [write, run], opaque: false, doubts: [], claims: {}, arguments: {} };
  expect(saysAll(facts)).toBe(true);
  expect(saysAll({ ...facts, opaque: true })).toBe(false);
  expect(saysAll({ ...facts, doubts: ["hooks"] })).toBe(false);
  expect(saysAll({ ...facts, effects: [] })).toBe(false);
  expect(saysAll({ ...facts, effects: [{ ...run, opaque: true }] })).toBe(false);
  expect(saysAll({ ...facts, effects: [{ kind: "net", host: "*" }] })).toBe(false);
});
