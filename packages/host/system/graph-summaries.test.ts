import { dirname, join } from "node:path";
import { hold, refuse, reply, type Scene, say, scene } from "@reins/scripted-model";
import { describe, expect, test } from "vitest";
import { command, type GraphHomeOptions, openGraphHome } from "./fixtures/graph-home.ts";
import { textIn } from "./fixtures/home.ts";

const LINES = "for i in $(seq 1 500); do echo line $i of the log; done";
const SUMMARY = "The log has 500 lines.";
const sums = (...steps: Scene["steps"]) => [scene("Sum up the result", ...steps)];

const open = (more: GraphHomeOptions = {}) =>
  openGraphHome({ parts: sums(reply(say(SUMMARY))), graphs: { summarizer: {} }, ...more });

describe("A result that has no summary that fits", () => {
  test("is summed up by the configured agent, under a verdict of its own and within the budget", async () => {
    const { run, entries, output } = await open();
    const done = await run([command("log", LINES)], {}, { budget: { tokens: 1_000_000 } });
    expect(done).toMatchObject({ status: "completed", actions: [{ result_summary: SUMMARY }] });
    expect(await output(done.run_id, "log")).toContain("line 500 of the log");
    const verdicts = await entries("policy_verdict");
    expect(verdicts.filter(({ target }) => target === "graph/summary")).toHaveLength(1);
  });

  test.each<[string, GraphHomeOptions, object, object]>([
    ["no summarizer is configured", { graphs: {} }, {}, {}],
    ["the model fails", { parts: sums(refuse(400, "broken")) }, {}, {}],
    [
      "rules want a question first",
      {
        rules: [
          "tool_rules:",
          "  - { name: sums, condition: { tool_name_matches: [graph/summary] }, verdict: ask }",
          "  - { name: rest, condition: {}, verdict: allowed }",
        ].join("\n"),
      },
      {},
      {},
    ],
    [
      "rules forbid it",
      {
        rules: [
          "tool_rules:",
          "  - { name: sums, condition: { tool_name_matches: [graph/summary] }, verdict: blocked, reason: no }",
          "  - { name: rest, condition: {}, verdict: allowed }",
        ].join("\n"),
      },
      {},
      {},
    ],
    ["the budget is too small", {}, {}, { budget: { tokens: 100 } }],
    ["models may not see it", {}, { data_visibility: ["user", "logs"] }, {}],
    ["none is wanted", {}, { result_policy: { return_to_model: "none" } }, {}],
  ])("is cut where %s, and nothing fails or waits for that", async (_, options, more, envelope) => {
    const { run, harness } = await open(options);
    const done = await run([command("log", LINES, more)], {}, envelope);
    expect(done.status).toBe("completed");
    expect(done.actions[0]?.result_summary).toMatch(/^\d+ lines, \d+ characters:/);
    expect(await harness.approvals.list({ tenant: "default", order: "oldest" })).toEqual([]);
  });

  test("keeps what was done when Reins stops while it is summed up", async () => {
    const asked = Promise.withResolvers<void>();
    const never = {
      // biome-ignore lint/suspicious/noThenProperty: the model waits for as long as it is asked.
      then: () => {
        asked.resolve();
        return new Promise<never>(() => undefined);
      },
    };
    const first = await open({ parts: sums(reply(hold(never))) });
    const { run_id } = await first.start(
      [command("log", `echo once >> done.txt; ${LINES}`)],
      {},
      { persist: true },
    );
    await asked.promise;
    await first.close();
    const second = await open({ folder: dirname(first.home) });
    expect(await second.ended(run_id)).toMatchObject({
      status: "completed",
      actions: [{ result_summary: SUMMARY, attempts: 1 }],
    });
    expect(await textIn(join(second.workspace, "done.txt"))).toBe("once\n");
    const results = await second.entries("tool_result");
    const outcomes = results.filter(({ target }) => target === "run_command").map(({ tags }) => tags[0]);
    expect(outcomes).toEqual(["completed"]);
  });
});
