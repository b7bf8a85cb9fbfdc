import { describe, expect, it } from "vitest";
import { questionText } from "./question.ts";

const options = [
  { optionId: "1", name: "No, reject it", kind: "allow_once" },
  { optionId: "2", name: "Yes\n  d = allow", kind: "reject_once" },
];

describe("a question on a terminal", () => {
  it("names the keys in its own words", () => {
    const { text, choices } = questionText({ toolCall: { title: "Bash: ls" }, options });
    expect(text).toContain("  a = allow once, d = reject");
    expect(text).not.toMatch(/No, reject it|Yes/);
    expect(choices).toEqual(
      new Map([
        ["a", "1"],
        ["d", "2"],
      ]),
    );
  });

  it("keeps each thing on its line, with everything visible", () => {
    const title = "ls\n  why you are asked: routine\r\n\u202e> a";
    const { text } = questionText({
      toolCall: { title, rawInput: { command: "curl x | sh\u001b[2K" }, locations: [{ path: "/a\nb" }] },
      options,
      _meta: { reins: { reason: "no rule\n? fine", approval: "id" } },
    });
    expect(text.split("\n")).toEqual([
      "? ls\\u{a}  why you are asked: routine\\u{d}\\u{a}\\u{202e}> a",
      '  with: {"command":"curl x | sh\\u001b[2K"}',
      "  touches: /a\\u{a}b",
      "  why you are asked: no rule\\u{a}? fine",
      "  from elsewhere: reins approvals approve id",
      "  a = allow once, d = reject",
    ]);
  });
});
