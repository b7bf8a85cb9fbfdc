import type { RunAction, RunGraph } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { rendered, renderedText } from "../../../../test/render.ts";
import { anAction, aRunGraph, everyStatus, HARMFUL, hostileGraph } from "../../../../test/run-graphs.ts";
import { ActionDetail } from "./action-detail.tsx";
import { ActionList, executorText, statusOptions } from "./action-list.tsx";
import { actionConsequence, runConsequence } from "./controls.tsx";
import { linesFrom, rangeText } from "./stored-text.tsx";

const element = (graph: RunGraph, id: string) => {
  const action = graph.actions.find((one) => one.id === id) ?? anAction(id);
  return createElement(ActionDetail, { graph, action, takesFocus: false, onClose: () => undefined });
};

describe("an action", () => {
  test("shows its purpose, verdict, times, input and result layers", () => {
    const text = renderedText(element(everyStatus(), "find"));
    for (const part of [
      "Lists every pond of the map.",
      "The count needs to know where to look.",
      "in the ledger, with its proof",
      "Took 2.4 s",
      "Found 3 ponds",
      "Show the full output",
      "map.txt Show this artifact",
      '"pattern": "**/*.pond"',
    ])
      expect(text).toContain(part);
    expect(rendered(element(everyStatus(), "find"))).toContain(`href="/ui/ledger/${"c".repeat(64)}"`);
  });

  test("shows its prompt, child session and dependencies with their status", () => {
    const html = rendered(element(everyStatus(), "north"));
    expect(html).toContain("- brown ones");
    expect(html).toContain(`href="/ui/sessions/${"a".repeat(64)}"`);
    expect(renderedText(element(everyStatus(), "north"))).toContain("After Find the ponds completed");
  });

  test("shows its assignment, what earlier agents left and what was reported", () => {
    const said = { evidence: ["pond.ts:4"], artifact_refs: [], risks: ["ice"], unresolved_issues: [] };
    const assignment = {
      ...{
        executor: "agent:native",
        goal: "Count",
        context_refs: ["md:shared"],
        expected_outputs: ["frogs"],
      },
      authority: { principal: "local", writes: [], budget: { tokens: 50 } },
      ...{
        withheld: ["south"],
        notes: ["Mind the ice."],
        artifacts: ["artifact://run_frogs/north"],
        trace: [],
      },
      handoffs: [
        {
          ...{ from: { run: "run_frogs", action: "find" }, result_summary: "Three ponds.", ...said },
          ...{ next_goal: "Count", constraints: ["Write nothing."], dependencies: ["find"] },
        },
      ],
      report: { result_summary: "Nine frogs.", ...said, faults: ["the result has no frogs"] },
    };
    const graph = everyStatus();
    const actions = graph.actions.map((one) => (one.id === "north" ? { ...one, assignment } : one));
    const text = renderedText(element({ ...graph, actions }, "north"));
    for (const part of [
      "For local",
      "May write nothing",
      "At most 50 tokens",
      "Withheld south",
      "Notes Mind the ice.",
      "Reported Nine frogs.",
      "Not as asked the result has no frogs",
      "Handoff from Find the ponds",
      "Constraints Write nothing.",
    ])
      expect(text).toContain(part);
  });

  test("links to the approval it waits for", () => {
    const html = rendered(element(everyStatus(), "mill"));
    expect(html).toContain('href="/ui/approvals?approval=approval-1"');
  });

  test("offers a decision only where there is one", () => {
    const blocked: RunGraph = { ...everyStatus(), status: "blocked", waits_for: "model" };
    expect(renderedText(element(blocked, "south"))).toContain("Try again Continue without it Abort");
    expect(renderedText(element(blocked, "find"))).not.toContain("Try again");
    expect(renderedText(element(everyStatus(), "south"))).not.toContain("Try again");
  });

  test("escapes hidden characters and injects no markup", () => {
    const html = rendered(element(hostileGraph(), "b"));
    expect(HARMFUL.filter((one) => html.includes(one))).toEqual([]);
  });
});

describe("the list", () => {
  const list = (actions: readonly RunAction[]) =>
    renderedText(createElement(ActionList, { actions, chosen: undefined, onChoose: () => undefined }));

  test("has every action with status, executor and reason", () => {
    const text = list(everyStatus().actions);
    expect(text).toContain("failed Count the frogs of the south pond tool · run_command attempt 3 2.4 s");
    expect(text).toContain("No rule allows this host.");
    expect(text).toContain("A step that the declaration hides");
  });

  test("filters a long list by the statuses that there are", () => {
    expect(statusOptions(everyStatus().actions).slice(0, 2)).toEqual([
      ["", "all (8)"],
      ["completed", "completed (1)"],
    ]);
  });
});

describe("a cancellation says what it does", () => {
  const graph = aRunGraph([
    anAction("a", { status: "running" }),
    anAction("b", { depends_on: ["a"] }),
    anAction("c", { depends_on: ["b"] }),
  ]);

  test("to the run", () => {
    expect(runConsequence(graph)).toContain("1 action is stopped, 2 actions do not start.");
  });

  test("to an action and what depends on it", () => {
    expect(actionConsequence(graph, anAction("a"))).toBe(
      "What it has done stays done. 2 actions depend on it.",
    );
    expect(actionConsequence(graph, anAction("c"))).toContain("No other action depends on it.");
  });
});

test("an executor is named once, and not before it is chosen", () => {
  expect(executorText({ type: "tool", target: "read_file" })).toBe("tool · read_file");
  expect(executorText({ type: "human", target: "human" })).toBe("human");
  expect(executorText({ target: "auto" })).toBe("not chosen yet");
});

describe("a stored text", () => {
  test("is fetched by pages of lines", () => {
    expect(linesFrom("r", 201)).toEqual({ ref: "r", from_line: 201, to_line: 400 });
    expect(linesFrom("r", -50)).toEqual({ ref: "r", from_line: 1, to_line: 200 });
  });

  test("says which lines are shown, and whether a word was found", () => {
    const lines = { from: 1, to: 200, total: 1_234 };
    expect(rangeText({ text: "a Frog", lines }, undefined)).toBe("Lines 1 to 200 of 1,234");
    expect(rangeText({ text: "a Frog", lines }, "frog")).toBe("Matches within lines 1 to 200 of 1,234");
    expect(rangeText({ text: "a Frog", lines }, "toad")).toBe("No line has it. Lines 1 to 200 of 1,234");
  });
});
