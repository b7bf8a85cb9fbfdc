import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reply, say, scene } from "@reins/scripted-model";
import { expect, test } from "vitest";
import { command, openGraphHome } from "./fixtures/graph-home.ts";
import { textIn } from "./fixtures/home.ts";

test("results of results do not grow without bound", async () => {
  const { run } = await openGraphHome();
  const merge = (id: string, from: string) => ({
    id,
    executor: { type: "runtime", target: "merge" },
    // The payload of a verdict has the input, which is bounded there, and not the context.
    context_refs: [from, from],
    result_policy: { return_to_model: "summary", store_full: false },
  });
  const doubled = Array.from({ length: 26 }, (_, index) =>
    merge(`m${index}`, index === 0 ? "input:seed" : `action:m${index - 1}.output`),
  );
  const ended = await run(doubled, { context: { seed: "x".repeat(64) } });
  expect(ended).toMatchObject({
    status: "failed",
    status_reason: expect.stringContaining("refers to more than"),
  });
});

test("a loop does not pile up results without bound", async () => {
  const { run } = await openGraphHome();
  const merge = (id: string, from: string, more: object = {}) => ({
    ...{ id, executor: { type: "runtime", target: "merge" }, context_refs: [from, from] },
    result_policy: { store_full: false },
    ...more,
  });
  const doubled = Array.from({ length: 5 }, (_, index) =>
    merge(`m${index}`, index === 0 ? "input:seed" : `action:m${index - 1}.output`),
  );
  const again = merge("again", "action:m4.output", { loop: { max_iterations: 20 } });
  const ended = await run([...doubled, again], { context: { seed: "x".repeat(60_000) } });
  expect(ended).toMatchObject({
    status: "failed",
    status_reason: expect.stringMatching(/which is the most/),
  });
});

test("a run that waits takes a bounded number of revisions, and is canceled all the same", async () => {
  const { start, hosting, principal } = await openGraphHome();
  const { run_id } = await start([command("gate", "true", { requires_approval: true })]);
  const declaration = {
    ...{ type: "agent.protocol", version: "1", intent: "revise" },
    payload: { run_id, actions: [command("next", "true", { depends_on: ["gate"] })] },
  };
  const revise = () => hosting.graphs.start(principal, { declaration });
  await expect.poll(async () => (await hosting.graphs.get(principal, run_id)).status).toBe("waiting");
  for (let revisions = 0; revisions < 200; revisions += 1) await revise();
  await expect(revise()).rejects.toThrow(/200 times, which is the most/);
  expect(await hosting.graphs.cancel(principal, run_id)).toMatchObject({ status: "canceled" });
});

test("an action that is to be done once is not done again by a decision", async () => {
  const { run, hosting, principal, workspace } = await openGraphHome();
  const ended = await run([command("pay", "echo paid >> paid.txt; false", { idempotency: "once" })]);
  expect(ended.status).toBe("failed");
  const retried = hosting.graphs.decide(principal, ended.run_id, { action: "pay", decision: "retry" });
  await expect(retried).rejects.toThrow(/declared to be done once/);
  expect(await textIn(join(workspace, "paid.txt"))).toBe("paid\n");
});

test("what a declaration withholds is shown by no failure and no expansion", async () => {
  const { run, workspace } = await openGraphHome();
  await writeFile(join(workspace, "key.txt"), "canary");
  const withheld = { data_visibility: ["logs"] };
  const failed = await run([command("peek", "cat key.txt; false", withheld)]);
  expect(failed.status).toBe("failed");
  expect(JSON.stringify(failed)).not.toContain("canary");
  const expanded = await run([
    command("peek", "cat key.txt", withheld),
    {
      id: "again",
      executor: { type: "runtime", target: "expand" },
      input: { refs: ["artifact:peek"] },
      depends_on: ["peek"],
    },
  ]);
  expect(expanded.actions[1]).toMatchObject({
    status: "failed",
    status_reason: expect.stringContaining("withheld"),
  });
  expect(JSON.stringify(expanded)).not.toContain("canary");
});

test("a model changes no run of another session", async () => {
  const { run, hosting, principal } = await openGraphHome();
  const other = await run([command("a", "false")]);
  const own = await run([command("b", "true")]);
  const declaration = {
    ...{ type: "agent.protocol", version: "1", intent: "decide" },
    payload: { run_id: other.run_id, action_id: "a", decision: "retry" },
  };
  const text = `\`\`\`json agent-protocol\n${JSON.stringify(declaration)}\n\`\`\``;
  const service = hosting.protocol.serviceFor("default");
  const { signal } = new AbortController();
  await service.declare(own.session_id, { text, calls: [], isComplete: true }, signal);
  expect(await service.transcript(own.session_id)).toContain("this session has no run");
  const { actions } = await hosting.graphs.get(principal, other.run_id);
  expect(actions[0]?.attempts).toBe(1);
});

test("what agents use counts against the budget of their run and of their action", async () => {
  const home = await openGraphHome({
    parts: [scene("First", reply(say("Done."))), scene("Second", reply(say("Done.")))],
  });
  const task = (id: string, description: string, more: object = {}) => ({
    ...{ id, executor: { type: "agent", target: "native" }, description },
    ...more,
  });
  const two = [task("one", "First"), task("two", "Second", { depends_on: ["one"] })];
  const small = await home.run(two, {}, { budget: { tokens: 5 } });
  expect(small).toMatchObject({ status: "failed", status_reason: "the run has used its 5 tokens" });
  expect(small.actions.map(({ status }) => status)).toEqual(["completed", "canceled"]);
  const own = await home.run([
    task("loops", "First", { budget: { tokens: 5 }, loop: { max_iterations: 3, until: NEVER } }),
  ]);
  expect(own.actions[0]).toMatchObject({ iterations: 1, status_reason: "it has used its 5 tokens" });
  const enough = await home.run(two, {}, { budget: { tokens: 1_000_000 } });
  expect(enough.status).toBe("completed");
});

test("every call has a card of its own, also where ids of actions look like numbers of attempts", async () => {
  const step = { tool: "run_command", input: { command: "true" } };
  const pipelines = { twice: { description: "Two steps.", steps: [step, step] } };
  const home = await openGraphHome({ graphs: { pipelines } });
  const ended = await home.run([
    { id: "a", executor: { type: "pipeline", target: "twice" } },
    command("a.1", "false", { failure_policy: { on_failure: "retry", max_attempts: 2 } }),
    command("a.1.2", "true"),
  ]);
  expect(ended.actions.map(({ attempts }) => attempts)).toEqual([1, 2, 1]);
  const calls = (await home.entries("tool_call")).map(({ payload }) => Object(payload).call);
  expect(calls).toHaveLength(6);
  expect(new Set(calls).size).toBe(6);
});

const NEVER = { field: "done", equals: true };
