import { describe, expect, it } from "vitest";
import { expandText } from "./expand.ts";

const text = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join("\n");

describe("A stored text", () => {
  it("is expanded whole where it is short enough", () => {
    expect(expandText("a\nb")).toEqual({
      text: "a\nb",
      lines: { from: 1, to: 2, total: 2 },
      truncated: false,
    });
    expect(expandText("")).toEqual({ text: "", lines: { from: 1, to: 1, total: 1 }, truncated: false });
  });

  it("is expanded by lines, also where the range is out of bounds", () => {
    expect(expandText(text, { range: { from_line: 3, to_line: 4 } })).toEqual({
      text: "line 3\nline 4",
      lines: { from: 3, to: 4, total: 100 },
      truncated: true,
    });
    expect(expandText(text, { range: { from_line: 99, to_line: 500 } }).text).toBe("line 99\nline 100");
    expect(expandText(text, { range: { from_line: 500 } }).text).toBe("line 100");
    expect(expandText(text, { range: { from_line: 9, to_line: 2 } }).text).toBe("line 9");
  });

  it("is expanded around matches, and says what it leaves out", () => {
    const { text: shown, lines } = expandText(text, {
      range: { around_matches: "LINE 5", context_lines: 1, to_line: 51 },
    });
    expect(shown).toBe("line 4\nline 5\nline 6\n… (lines 7 to 48 left out)\nline 49\nline 50\nline 51");
    expect(lines).toEqual({ from: 4, to: 51, total: 100 });
  });

  it("is expanded around the words of the reason, as the seed has it", () => {
    const output = `${text}\nThe undo/redo state is not wired.\n${text}`;
    const reason = "Need exact evidence for the undo/redo finding.";
    const { lines } = expandText(output, { reason, range: { around_matches: true, context_lines: 20 } });
    expect(lines).toEqual({ from: 81, to: 121, total: 201 });
  });

  it("is shown from the beginning where nothing matches", () => {
    const found = expandText(text, { range: { around_matches: "nothing" } });
    expect(found.lines).toMatchObject({ from: 1, to: 100 });
    expect(found.text).toBe(`… (no line has a match; this is what is there from line 1 on)\n${text}`);
    const cut = expandText(text, { range: { around_matches: "nothing", from_line: 90 }, most: 100 });
    expect(cut.text.length).toBeLessThanOrEqual(100);
    expect(cut.text).toMatch(/no line has a match.* 90 on\)\nline 90\n/);
    expect(expandText(text, { range: { around_matches: true } }).text).toContain("no line has a match");
  });

  it("is never longer than the limit", () => {
    const { text: shown, lines, truncated } = expandText(text, { most: 20 });
    expect([shown, lines.to, truncated]).toEqual(["line 1\nline 2", 2, true]);
    expect(expandText("x".repeat(100), { most: 20 })).toMatchObject({
      text: "x".repeat(20),
      truncated: true,
    });
  });
});
