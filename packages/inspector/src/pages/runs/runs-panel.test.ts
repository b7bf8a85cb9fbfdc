import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import { RunsPanel, SessionGraphs } from "./runs-panel.tsx";

const base = { run_id: "run-1", session_id: "s", updated_at: new Date().toISOString() };
const panel = createElement(RunsPanel);
const withRuns = (...runs: readonly object[]) => cached([["runs"], { runs }]);

describe("the panel of runs", () => {
  test("says what a run is while there is none", () => {
    expect(renderedText(panel, withRuns())).toContain("No runs yet");
    expect(renderedText(panel)).toContain("Loading runs");
  });

  test("shows status, verification and finished tasks, and links to the run", () => {
    const run = {
      ...base,
      run_lifecycle: { ...base, status: "executing", prompt: "count\u200b frogs" },
      task_list: {
        ...base,
        tasks: [
          { title: "a", status: "completed" },
          { title: "b", status: "pending" },
        ],
      },
      verification: { ...base, status: "needs_review" },
    };
    const shown = renderedText(panel, withRuns(run));
    expect(shown).toContain("count⟨U+200B⟩ frogs executing verification needs review");
    expect(shown).toContain("1 of 2 tasks done");
    expect(rendered(panel, withRuns(run))).toContain('href="/ui/runs/run-1"');
  });

  test("shows the error of a failed run, and that it was not verified", () => {
    const run = { ...base, run_lifecycle: { ...base, status: "failed", prompt: "count", error: "no pond" } };
    const shown = renderedText(panel, withRuns(run));
    expect(shown).toMatch(/count failed not verified .*no pond/);
    expect(shown).not.toContain("tasks done");
  });

  test("marks a run of a graph", () => {
    expect(renderedText(panel, withRuns({ ...base, has_graph: true }))).toContain("graph");
    expect(renderedText(panel, withRuns({ ...base, has_graph: false }))).not.toContain("graph");
  });

  test("shows the twelve newest", () => {
    const runs = Array.from({ length: 20 }, (_, index) => ({ ...base, run_id: `run-${index}` }));
    expect(rendered(panel, withRuns(...runs)).match(/<li/g)).toHaveLength(12);
  });
});

describe("the graphs of a session", () => {
  const line = createElement(SessionGraphs, { session: "s" });
  const named = (id: string, has_graph: boolean) => ({
    ...base,
    run_id: id,
    has_graph,
    run_lifecycle: { ...base, status: "executing", prompt: `Count ${id}` },
  });

  test("are the newest three, and the others are counted", () => {
    const runs = ["1", "2", "3", "4"].map((id) => named(id, true));
    const queries = cached([["session-runs", "s"], { runs: [named("turn", false), ...runs] }]);
    expect(renderedText(line, queries)).toBe(
      "Graphs of actions Count 1 executing Count 2 executing Count 3 executing and 1 older",
    );
  });

  test("are not mentioned if there are none", () => {
    expect(renderedText(line, cached([["session-runs", "s"], { runs: [named("turn", false)] }]))).toBe("");
    expect(renderedText(line)).toBe("");
  });
});
