import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reply, say, scene } from "@reins/scripted-model";
import { describe, expect, test } from "vitest";
import { command, openGraphHome } from "./fixtures/graph-home.ts";
import { textIn } from "./fixtures/home.ts";

const CANARY = "canary-7f3a";
const PEEK = { id: "peek", executor: { target: "read_file" }, input: { path: "key.txt" } };
const merge = (id: string, from: string, more: object = {}) => ({
  id,
  executor: { type: "runtime", target: "merge" },
  context_refs: [from],
  ...more,
});

/** Everything that a session shows of a run: the picture, the transcript and the log of its clients. */
async function shownOf(home: Awaited<ReturnType<typeof openGraphHome>>, run: string): Promise<string> {
  const projected = await home.get(run);
  const transcript = await home.hosting.protocol.serviceFor("default").transcript(projected.session_id);
  const log = await home.hosting.hub.log.page("default", [projected.session_id], 0);
  return JSON.stringify([projected, transcript, log]);
}

describe("a result that is withheld", () => {
  test.each([
    ["from all", { data_visibility: [] }],
    ["from models and people", { data_visibility: ["logs", "future_runs"] }],
  ])("%s stays so in everything that refers to it", async (_, withheld) => {
    const home = await openGraphHome();
    await writeFile(join(home.workspace, "key.txt"), CANARY);
    const { run_id } = await home.run([
      { ...PEEK, ...withheld },
      merge("once", "action:peek.output"),
      merge("twice", "artifact:once", { result_policy: { return_to_model: "full" } }),
      {
        id: "write",
        executor: { target: "write_file" },
        input: { path: "copy.txt", content: { $ref: "action:twice.output" } },
      },
      // Fails with its input in the reason.
      { id: "miss", executor: { target: "read_file" }, input: { path: { $ref: "action:once.summary" } } },
    ]);
    expect(await textIn(join(home.workspace, "copy.txt"))).toBe(CANARY);
    expect(await shownOf(home, run_id)).not.toContain(CANARY);
    for (const id of ["once", "twice"]) await expect(home.output(run_id, id)).rejects.toThrow(/withheld/);
  });

  test("from models is given to no agent and no bounded turn, and to no later run's model", async () => {
    const home = await openGraphHome({ parts: [scene("", reply(say("Seen.")))] });
    await writeFile(join(home.workspace, "key.txt"), CANARY);
    const secret = { ...PEEK, privacy: { replay: "never" } };
    for (const executor of [
      { type: "agent", target: "native" },
      { type: "tool", target: "auto", capabilities: ["read"] },
    ]) {
      const message = [
        "```json agent-protocol",
        JSON.stringify({
          ...{ type: "agent.protocol", version: "1", intent: "execute" },
          payload: {
            actions: [
              secret,
              merge("through", "action:peek.output"),
              { id: "told", executor, prompt_ref: "md:task", context_refs: ["action:through.output"] },
            ],
          },
        }),
        "```",
        "## task",
        "Look.",
      ].join("\n");
      const started = home.hosting.graphs.start(home.principal, { message });
      await expect(started).rejects.toThrow("the result of through is withheld");
    }
    const kept = await home.run([{ ...PEEK, data_visibility: ["user", "future_runs"] }]);
    const later = await home.run([
      merge("again", `runtime://runs/${kept.run_id}/actions/peek/output`, {
        result_policy: { return_to_model: "full" },
      }),
    ]);
    const transcript = await home.hosting.protocol.serviceFor("default").transcript(later.session_id);
    expect(later.status).toBe("completed");
    expect(transcript).not.toContain(CANARY);
    expect(await home.output(later.run_id, "again")).toBe(CANARY);
    const expanded = await home.run([
      {
        id: "x",
        executor: { type: "runtime", target: "expand" },
        input: { refs: [`artifact://${kept.run_id}/peek`] },
      },
    ]);
    expect(expanded.actions[0]?.status_reason).toContain("withheld");
  });

  test("from people is put to no person", async () => {
    const home = await openGraphHome();
    const ask = {
      id: "ask",
      executor: { type: "human", target: "ask_user" },
      input: { message: { $ref: "action:peek.output" } },
    };
    const started = home.start([command("peek", "echo hidden", { data_visibility: ["model"] }), ask]);
    await expect(started).rejects.toThrow("the result of peek is withheld");
  });

  test("from people is given to no agent, whose session they see, nor made by one", async () => {
    const home = await openGraphHome({ parts: [] });
    const hidden = { data_visibility: ["model"] };
    const agent = { id: "told", executor: { type: "agent", target: "native" }, description: "Look." };
    const given = { ...agent, context_refs: ["action:peek.output"] };
    const started = home.start([command("peek", "echo hidden", hidden), given]);
    await expect(started).rejects.toThrow("the result of peek is withheld");
    await expect(home.start([{ ...agent, ...hidden }])).rejects.toThrow(
      /told cannot be withheld from people/,
    );
  });

  test("is withheld by what a revision derives from it", async () => {
    const home = await openGraphHome();
    await writeFile(join(home.workspace, "key.txt"), CANARY);
    const { run_id } = await home.run([
      { ...PEEK, data_visibility: ["logs"] },
      command("fails", "false", { depends_on: ["peek"] }),
    ]);
    const declaration = {
      ...{ type: "agent.protocol", version: "1", intent: "revise" },
      payload: { run_id, actions: [merge("leak", "action:peek.output")] },
    };
    await home.hosting.graphs.start(home.principal, { declaration });
    const revised = await home.ended(run_id);
    expect(revised.status).toBe("completed");
    expect(await shownOf(home, run_id)).not.toContain(CANARY);
  });

  test("stays so where a revision declares it again as shown", async () => {
    const home = await openGraphHome();
    await writeFile(join(home.workspace, "key.txt"), CANARY);
    const { run_id } = await home.run([
      { ...PEEK, data_visibility: ["logs"] },
      command("fails", "false", { depends_on: ["peek"] }),
    ]);
    const declaration = {
      ...{ type: "agent.protocol", version: "1", intent: "revise" },
      payload: { run_id, actions: [PEEK, merge("leak", "action:peek.output")] },
    };
    await home.hosting.graphs.start(home.principal, { declaration });
    await home.ended(run_id);
    expect(await shownOf(home, run_id)).not.toContain(CANARY);
  });

  test("from people is expanded by no action that they are shown", async () => {
    const home = await openGraphHome();
    await writeFile(join(home.workspace, "key.txt"), CANARY);
    const expand = { id: "again", executor: { target: "expand" }, input: { refs: ["artifact:peek"] } };
    const hidden = { data_visibility: ["model"] };
    for (const [more, status] of [
      [{}, "failed"],
      [hidden, "completed"],
    ] as const) {
      const ended = await home.run([
        { ...PEEK, ...hidden },
        { ...expand, depends_on: ["peek"], ...more },
      ]);
      expect(ended.actions[1]?.status).toBe(status);
      expect(JSON.stringify(ended)).not.toContain(CANARY);
      await expect(home.output(ended.run_id, "again")).rejects.toThrow(/withheld|no stored output/);
    }
  });
});

describe("an approval of a graph", () => {
  test("says why in our words, and quotes those of the model", async () => {
    const home = await openGraphHome();
    const { run_id } = await home.start(
      [command("go", "echo gone > gone.txt"), { id: "ask", executor: { target: "request_approval" } }],
      {},
      { approval_gates: [{ before: "go", message: 'rule "safe": allowed by the operator' }] },
    );
    const approvals = await home.pending(2);
    expect(approvals.map(({ reason }) => reason).toSorted()).toEqual([
      'a gate of the declaration; the model says: "rule \\"safe\\": allowed by the operator"',
      'the declaration asks for approval; the model says: "ask"',
    ]);
    for (const { id } of approvals) await home.answer(id, "deny");
    expect((await home.ended(run_id)).status).toBe("blocked");
    expect(await textIn(join(home.workspace, "gone.txt"))).toBeUndefined();
  });

  test("that was denied is passed over by no decision", async () => {
    const home = await openGraphHome();
    const { run_id } = await home.start([
      { id: "gate", executor: { target: "request_approval" }, input: { message: "May I?" } },
      command("own", "echo own > own.txt", { requires_approval: true }),
      command("after", "echo after > after.txt", { depends_on: ["gate", "own"] }),
    ]);
    for (const { id } of await home.pending(2)) await home.answer(id, "deny");
    expect((await home.ended(run_id)).status).toBe("blocked");
    const { graphs } = home.hosting;
    for (const action of ["gate", "own"]) {
      const passed = graphs.decide(home.principal, run_id, { action, decision: "continue" });
      await expect(passed).rejects.toThrow(/a person did not agree/);
    }
    // The denial stands: it is not asked again.
    await graphs.decide(home.principal, run_id, { action: "gate", decision: "retry" });
    const retried = await home.ended(run_id);
    expect(retried.actions.map(({ status }) => status)).toEqual(["blocked", "blocked", "canceled"]);
    expect(await textIn(join(home.workspace, "after.txt"))).toBeUndefined();
  });
});
