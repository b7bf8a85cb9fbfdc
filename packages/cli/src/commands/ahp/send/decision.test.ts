import { expect, describe as group, it } from "vitest";
import { describe, exitCodeFor, isDecision } from "./decision.ts";

group("a decision", () => {
  it.each([
    ["allow", 0],
    ["approve", 0],
    ["block", 10],
    ["reject", 10],
    ["skip", 10],
    ["modify", 11],
    ["refine", 11],
    ["defer", 12],
    ["retry", 12],
    ["queue", 12],
    ["escalate", 13],
    ["something new", 10],
    ["toString", 10],
  ])("%s ends with %i", (decision, code) => {
    expect(exitCodeFor({ decision })).toBe(code);
  });

  it("is a line for people, with what belongs to it below", () => {
    expect(describe({ decision: "allow" })).toBe("allow\n");
    expect(describe({ decision: "block", reason: "no\u001b[2J" })).toBe("block: no\\u{1b}[2J\n");
    const modify = { decision: "modify", modified_payload: { a: 1 } };
    expect(describe(modify)).toBe('modify\n{\n  "modified_payload": {\n    "a": 1\n  }\n}\n');
  });

  it("is known by its word", () => {
    expect(isDecision({ decision: "allow" })).toBe(true);
    for (const value of [undefined, null, {}, { decision: 1 }, "allow"])
      expect(isDecision(value)).toBe(false);
  });
});
