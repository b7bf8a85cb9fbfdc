import { describe, expect, it } from "vitest";
import { graphOf } from "../../test/graphs.ts";
import { readAnswer } from "../run/assignment.ts";
import type { ActionState } from "../run/progress.ts";
import { needsSummarizer, observe, outputSummary } from "./observation.ts";

const LIMITS = { maxTokens: 100 };
const OUTPUT = { findings: ["undo is not wired"], files: ["a.ts"], log: "x\n".repeat(400) };

function shown(result_policy: object, state: Partial<ActionState> = {}, more: object = {}) {
  const [action] = graphOf([{ id: "a", result_policy, ...more }]).actions;
  const result = { output: OUTPUT, summary: "Two findings.\nIn detail." };
  return observe(
    action!,
    { id: "a", status: "completed", attempts: 1, iterations: 1, result, ...state },
    LIMITS,
  );
}

describe("What a model is shown of a result", () => {
  it.each([
    ["none", undefined, false],
    ["summary", "Two findings.\nIn detail.", true],
    ["on_failure", undefined, true],
    ["on_demand", "Two findings.", true],
  ])("with the policy %s is that and no more", (return_to_model, text, hasReference) => {
    expect(shown({ return_to_model })).toMatchObject({ text, hasReference });
  });

  it("with the policy structured is the structured output, and the summary of one that has none", () => {
    const state = { result: { output: { done: true }, summary: "s" } };
    expect(shown({ return_to_model: "structured" }, state).text).toBe('{\n  "done": true\n}');
    expect(shown({ return_to_model: "structured" }, { result: { output: "text", summary: "s" } }).text).toBe(
      "s",
    );
  });

  it("has what an agent reported beside it, unless it may not be seen", () => {
    const { report } = readAnswer('{ "done": true, "risks": ["ice"] }', ["frogs"]);
    const state = { result: { output: { done: true }, summary: "s", report } };
    expect(shown({ return_to_model: "structured" }, state).text).toBe(
      '{\n  "done": true\n}\n\nRisks:\n- ice\n\nNot as it was asked for:\n- the result has no frogs',
    );
    expect(shown({ return_to_model: "full" }, state, { privacy: { replay: "never" } }).text).not.toContain(
      "ice",
    );
    expect(shown({ return_to_model: "none" }, state).text).toBeUndefined();
  });

  it("with the policy excerpt is the lines around what matters", () => {
    const output = `${"x\n".repeat(50)}an ERROR here\n${"y\n".repeat(50)}`;
    const { text } = shown(
      { return_to_model: "excerpt", priority: ["error"] },
      { result: { output, summary: "s" } },
    );
    expect(text).toBe("x\nx\nan ERROR here\ny\ny");
  });

  it("with the policy adaptive is what matters most, as far as there is room", () => {
    const { text } = shown({ return_to_model: "adaptive", priority: ["findings", "log"] });
    expect(text).toContain("undo is not wired");
    expect(text).toContain("Two findings.");
    expect(text).not.toContain("x\nx");
  });

  it("with the policy full is cut to the runtime's limit, whatever the action asks for", () => {
    const { text, isCut, hasReference } = shown({ return_to_model: "full", max_tokens: 1_000_000 });
    expect(text?.length).toBeLessThan(500);
    expect([isCut, hasReference]).toEqual([true, true]);
    expect(shown({ return_to_model: "full", max_tokens: 10 }).text?.length).toBeLessThan(80);
  });

  it.each([
    ["provide_ref", undefined],
    ["provide_ref_and_summary", "Two findings.\nIn detail."],
    ["fail", "The result is longer than 400 characters."],
  ])("that is too long is, with if_truncated %s, %j", (if_truncated, text) => {
    expect(shown({ return_to_model: "full", if_truncated })).toMatchObject({ text, isCut: true });
  });

  it("of a failure is the reason, unless nothing is wanted", () => {
    const state = { status: "failed" as const, reason: "no disk", result: undefined };
    for (const return_to_model of ["summary", "on_failure", "full", "on_demand"])
      expect(shown({ return_to_model }, state).text).toBe("no disk");
    expect(shown({ return_to_model: "none" }, state).text).toBeUndefined();
  });

  it("is nothing where privacy or data visibility forbid it, whatever the policy is", () => {
    for (const more of [{ privacy: { replay: "never" } }, { data_visibility: ["user", "logs"] }]) {
      const { text, hasReference } = shown({ return_to_model: "full" }, {}, more);
      expect([text, hasReference]).toEqual(["The result is withheld from the model.", false]);
    }
  });

  it("has no reference where the full output is not stored", () => {
    expect(shown({ return_to_model: "summary", store_full: false }).hasReference).toBe(false);
  });
});

describe("The mechanical summary", () => {
  it.each([
    ["short", "short"],
    [{ summary: "its own", more: 1 }, "its own"],
    [{ exit: 1, files: ["a"] }, 'exit: 1\nfiles: [\n  "a"\n]'],
    [[1, 2], "2 items: [1,2]"],
    [[], "0 items"],
    [null, "null"],
    [undefined, ""],
  ])("of %j is %j", (output, summary) => {
    expect(outputSummary(output)).toBe(summary);
  });

  it("of a long text is its size, its beginning and its end", () => {
    const summary = outputSummary(`first\n${"middle\n".repeat(500)}last`);
    expect(summary).toMatch(/^502 lines, 3510 characters:\nfirst\n.*…\n….*last$/s);
    expect(summary.length).toBeLessThan(500);
  });
});

describe("A summarizer", () => {
  const long = "x".repeat(5_000);
  const withPolicy = (result_policy: object, more: object = {}) =>
    graphOf([{ id: "a", result_policy, ...more }]).actions[0]!;
  const WIDE = { maxTokens: 1_000 };

  it.each<[boolean, object, { output: unknown; summary?: string }]>([
    [true, {}, { output: long }],
    [true, { return_to_model: "on_demand" }, { output: long }],
    [true, {}, { output: { matches: [long] } }],
    [true, {}, { output: long, summary: long }],
    [true, { return_to_model: "full" }, { output: long }],
    [true, { return_to_model: "structured", max_tokens: 100 }, { output: { lines: [long] } }],
    [false, {}, { output: "short" }],
    [false, {}, { output: long, summary: "Found two issues." }],
    [false, {}, { output: { summary: "Found two issues.", all: long } }],
    [false, { return_to_model: "none" }, { output: long }],
    [false, { return_to_model: "on_failure" }, { output: long }],
    [false, { return_to_model: "full" }, { output: long.slice(0, 3_000) }],
    [false, { return_to_model: "full", if_truncated: "truncate" }, { output: long }],
  ])("is wanted (%s) with the policy %j for %o", (isWanted, policy, performed) => {
    expect(needsSummarizer(withPolicy(policy), performed, WIDE)).toBe(isWanted);
  });

  it("gets nothing that is withheld from models, people or logs", () => {
    for (const more of [
      { data_visibility: ["user", "logs"] },
      { data_visibility: ["model", "logs"] },
      { data_visibility: ["model", "user"] },
      { privacy: { replay: "never" } },
    ])
      expect(needsSummarizer(withPolicy({}, more), { output: long }, WIDE)).toBe(false);
  });
});
