import { describe, expect, test } from "vitest";
import { inputOf, policyOf } from "../../test/recorded.ts";
import type { SubjectGraph } from "../subject.ts";

const CALL: SubjectGraph = {
  run: "run_1",
  executor: "service:tickets",
  action: "file",
  operation: "publish",
};

/** Whether the only rule matches what is asked for by an action of a graph, or by none. */
function matches(condition: string, verdict: string, graph: SubjectGraph | undefined): boolean {
  const policy = policyOf(`tool_rules: [{ name: r, condition: ${condition}, verdict: ${verdict} }]`);
  return policy.decide(inputOf({ subject: graph ? { graph } : {} })).rule === "r";
}

describe.each(["allowed", "blocked", "ask"])("in a rule with the verdict %s", (verdict) => {
  test.each([
    ["{ graph: true }", true, false],
    ["{ graph: false }", false, true],
    ["{ not: { graph: true } }", false, true],
    ["{ graph: { executor: 'service:*' } }", true, false],
    ["{ graph: { executor: ['agent:*', 'service:tickets'] } }", true, false],
    ["{ graph: { executor: 'agent:*' } }", false, false],
    ["{ not: { graph: { executor: 'agent:*' } } }", true, true],
  ])("%s tells actions of graphs apart", (condition, ofGraph, ofNone) => {
    expect(matches(condition, verdict, CALL)).toBe(ofGraph);
    expect(matches(condition, verdict, undefined)).toBe(ofNone);
  });
});

describe.each(["action: file", "operation: publish"])("%s is the model's word", (words) => {
  test("which matches in a rule that stops", () => {
    expect(matches(`{ graph: { ${words} } }`, "blocked", CALL)).toBe(true);
    const other = { ...CALL, action: "other", operation: "other" };
    expect(matches(`{ graph: { ${words} } }`, "blocked", other)).toBe(false);
    expect(matches(`{ graph: { ${words} } }`, "blocked", undefined)).toBe(false);
  });

  test("which allows nothing", () => {
    expect(matches(`{ graph: { ${words} } }`, "allowed", CALL)).toBe(false);
    expect(matches(`{ any_of: [{ graph: { ${words} } }] }`, "allowed", CALL)).toBe(false);
  });

  test("which makes no exception, neither to a rule that stops nor for one that allows", () => {
    expect(matches(`{ not: { graph: { ${words} } } }`, "blocked", CALL)).toBe(true);
    const other = { ...CALL, action: "other", operation: "other" };
    expect(matches(`{ not: { graph: { ${words} } } }`, "allowed", other)).toBe(false);
  });
});
