import type { RunGraph } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { rendered, renderedText } from "../../../../test/render.ts";
import { everyStatus, HARMFUL, hostileGraph } from "../../../../test/run-graphs.ts";
import { RunHead } from "./run-head.tsx";

const textOf = (more: Partial<RunGraph> = {}) =>
  renderedText(createElement(RunHead, { graph: { ...everyStatus(), ...more } }));

describe("the head of a run", () => {
  test("shows note, status, progress and what was said beside the protocol", () => {
    const text = textOf();
    expect(text).toContain("The agent says I count the frogs of all ponds in parallel");
    expect(text).toContain("running");
    expect(text).toContain("4 of 8 actions ended, 1 under way");
    expect(text).toContain("A direct call of read_file");
  });

  test("shows why it stopped, what came out and how long it took", () => {
    const text = textOf({
      status: "failed",
      status_reason: "The pond is frozen.",
      result_summary: "3 completed, 1 failed",
      ended_at: "2026-01-01T00:01:30.000Z",
    });
    expect(text).toContain("Because The pond is frozen.");
    expect(text).toContain("Result 3 completed, 1 failed");
    expect(text).toContain("took 1.5 min");
  });

  test("shows who changed it, their words, and a revision as it was written", () => {
    const by = { at: "2026-01-01T00:00:00.000Z", by: "user:default/ann" };
    const text = textOf({
      controls: [
        {
          ...{ ...by, kind: "decide", through: "client", actions: ["south"] },
          ...{ decision: "retry", note: "The ice has melted.", entry: "f".repeat(64) },
        },
        { ...by, kind: "revise", through: "model", actions: ["north"], declaration: '{ "as": "written" }' },
        { ...by, kind: "cancel", through: "client" },
      ],
    });
    expect(text).toContain("user:default/ann decided retry south");
    expect(text).toContain("The ice has melted.");
    expect(text).toContain("user:default/ann revised north, as the model declared");
    expect(text).toContain('{ "as": "written" }');
    expect(text).toContain("user:default/ann canceled the run");
    expect(rendered(createElement(RunHead, { graph: everyStatus() }))).not.toContain("Changed");
  });

  test.each([
    ["permission", "Waits for approval of Ask the miller", "/ui/approvals?approval=approval-1"],
    ["input", "Waits for an answer in its conversation", "/ui/sessions/pond"],
    [
      "model",
      "Waits for a decision of the model, or yours, about Count the frogs of the south pond Fetch the weather",
      "/ui/runs/run_frogs?action=south",
    ],
  ] as const)("links to what it waits for: %s", (waits_for, text, href) => {
    expect(textOf({ status: "waiting", waits_for })).toContain(text);
    const html = rendered(createElement(RunHead, { graph: { ...everyStatus(), waits_for } }));
    expect(html).toContain(`href="${href}"`);
  });

  test("links to what people are asked while other actions go on", () => {
    const { actions } = everyStatus();
    expect(textOf({ status: "running", waits_for: undefined })).toContain(
      "Waits for approval of Ask the miller",
    );
    const others = actions.filter(({ status }) => status !== "waiting");
    expect(textOf({ status: "running", waits_for: undefined, actions: others })).not.toContain("Waits for");
  });

  test("names three approvals and counts the others", () => {
    const [first] = everyStatus().actions.filter(({ approval }) => approval !== undefined);
    const actions = ["1", "2", "3", "4", "5"].flatMap((id) =>
      first ? [{ ...first, id, title: `Ask ${id}`, approval: id }] : [],
    );
    const text = textOf({ waits_for: "permission", actions });
    expect(text).toContain("Waits for approval of Ask 1 Ask 2 Ask 3 and 2 more");
  });

  test("says that a plan is not run", () => {
    expect(textOf({ plan: true })).toContain("plan only");
  });

  test("escapes hidden characters and injects no markup", () => {
    const html = rendered(createElement(RunHead, { graph: hostileGraph() }));
    expect(HARMFUL.filter((one) => html.includes(one))).toEqual([]);
    expect(html).toContain("⟨U+202E⟩");
  });
});
