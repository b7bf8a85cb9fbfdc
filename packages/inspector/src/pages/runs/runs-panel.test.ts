import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import { RunsPanel } from "./runs-panel.tsx";

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

  test("shows the twelve newest", () => {
    const runs = Array.from({ length: 20 }, (_, index) => ({ ...base, run_id: `run-${index}` }));
    expect(rendered(panel, withRuns(...runs)).match(/<li/g)).toHaveLength(12);
  });
});
