import { describe, expect, test } from "vitest";
import { checkOf } from "./run-command.ts";

describe("what a command checks", () => {
  test.each([
    ["npm test", "tests"],
    ["cd x && npx vitest run", "tests"],
    ["cargo test --all", "tests"],
    ["npx tsc -p .", "types"],
    ["npx biome check", "lint"],
    ["npm run build", "build"],
    ["make", "build"],
    ["ls -l", undefined],
    ["cat latest.txt", undefined],
  ])("%s: %s", (command, subject) => {
    expect(checkOf(command)).toBe(subject);
  });
});
