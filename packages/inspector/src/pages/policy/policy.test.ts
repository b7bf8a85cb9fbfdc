import type { PolicyStatus } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import { Constitution, PolicyTests } from "./constitution.tsx";
import { Coverage } from "./policy-page.tsx";

const HASH = "a".repeat(64);

describe("the constitution", () => {
  const rules = [
    {
      name: "no_secrets",
      condition: { paths: { any: { place: ["credentials"] } } },
      verdict: "blocked",
      reason: "secrets",
    },
    { name: "the_rest", condition: {}, verdict: "ask", reason: "ask a person" },
  ] as const;
  const status = (more: Partial<PolicyStatus> = {}): PolicyStatus => ({
    tenant: "default",
    in_force: {
      constitution_hash: HASH,
      rules_hash: HASH,
      rules: rules.map((rule) => ({ ...rule, condition: { ...rule.condition } })),
      tests: [],
      file: {},
    },
    waiting: null,
    fault: null,
    rules: "",
    prose: "# Be kind",
    ...more,
  });
  const text = (more: Partial<PolicyStatus> = {}) =>
    renderedText(createElement(Constitution, { status: status(more) }));

  test("lists the rules in order, and the default verdict at the end", () => {
    expect(text()).toMatch(
      /1 blocked no_secrets secrets paths any place credentials 2 ask the_rest ask a person everything blocked no matching policy rule/,
    );
    expect(text()).toContain("Be kind");
  });

  test("says how to fix a constitution that is not in force, and how to add prose", () => {
    expect(text({ in_force: null })).toContain("No rules are in force");
    expect(text({ prose: null })).toContain("Add constitution.md beside the rules.");
  });
});

describe("coverage", () => {
  const report = (more: object = {}) => ({
    total: 10,
    named: 6,
    taken_by_all: 3,
    unmatched: 1,
    rules: [
      { rule: "reads", matches: 6, takes_all: false },
      { rule: "hidden", matches: 0, takes_all: false },
      { rule: "unused", matches: 0, takes_all: false },
      { rule: "the_rest", matches: 3, takes_all: true },
    ],
    unreachable: [{ rule: "hidden", by: "reads" }],
    never_matched: [],
    unnamed: [],
    unnamed_left_out: 0,
    ...more,
  });
  const shown = (more: object = {}) =>
    renderedText(createElement(Coverage), cached([["policy-coverage"], report(more)]));

  test("counts how actions were decided", () => {
    expect(shown()).toContain(
      "Of 10 actions, 6 were decided by a rule that names them, 3 by one that matches everything, and 1 by none.",
    );
  });

  test("distinguishes unreachable rules from rules that never decided", () => {
    expect(shown()).toContain("reads 6");
    expect(shown()).toContain("hidden unreachable 0");
    expect(shown()).toContain("unused never decided 0");
    expect(shown()).toContain("the_rest matches everything 3");
  });

  test("draws shares that are visible however small", () => {
    const html = rendered(
      createElement(Coverage),
      cached([
        ["policy-coverage"],
        report({ total: 10_000, rules: [{ rule: "rare", matches: 1, takes_all: false }] }),
      ]),
    );
    expect(html).toContain("width:1%");
  });

  test("lists actions that no rule names, with an example", () => {
    const unnamed = [
      {
        verdict: "ask",
        rule: null,
        event_type: "pre_action",
        tool: "frob\u202e",
        agent: "native",
        count: 2,
        examples: [{ entry: HASH, what: "frob the pond" }],
      },
    ];
    expect(shown({ unnamed, unnamed_left_out: 4 })).toMatch(
      /ask frob⟨U\+202E⟩ native frob the pond 2 and 4 more kinds/,
    );
    expect(shown()).toContain("Every action was named by a rule.");
  });

  test("says that nothing was decided yet", () => {
    expect(shown({ total: 0 })).toContain("No decisions yet");
  });
});

describe("the tests of the constitution", () => {
  const said = (verdict: string, rule: string | null = null) => ({ verdict, rule });
  const outcome = {
    name: "blocks secrets",
    passed: true,
    expected: said("blocked"),
    got: said("blocked", "no_secrets"),
    fault: null,
  };
  const shown = (tests: readonly object[], failed: number) =>
    renderedText(
      createElement(PolicyTests),
      cached([["policy-tests"], { passed: tests.length - failed, failed, tests }]),
    );

  test("show expected and actual verdicts", () => {
    const failed = {
      name: "asks",
      passed: false,
      expected: said("ask"),
      got: said("allowed"),
      fault: "the example has no tool",
    };
    const text = shown([outcome, failed], 1);
    expect(text).toContain("1 passed, 1 failed");
    expect(text).toContain("✓ passed blocks secrets blocked blocked no_secrets");
    expect(text).toContain("✗ failed asks the example has no tool ask allowed no rule");
  });

  test("say how to write examples if there are none", () => {
    expect(shown([], 0)).toContain("The constitution has no examples");
  });
});
