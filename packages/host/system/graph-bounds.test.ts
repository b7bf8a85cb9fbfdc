import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { membersOf, withReinsMeta } from "@reins/acp";
import { call, refuse, reply, say, scene } from "@reins/scripted-model";
import { expect, onTestFinished, test, vi } from "vitest";
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

test("a run that is referred to many times is read a few times", async () => {
  const { run, get, harness } = await openGraphHome();
  const first = await run([command("find", "echo found")]);
  const refs = new Array<string>(200).fill(`runtime://runs/${first.run_id}/actions/find/summary`);
  const query = vi.spyOn(harness.store, "query");
  const reads = () => query.mock.calls.filter(([, , given]) => Object(given).run === first.run_id).length;
  // It is read from the store once nothing of it is under way any more.
  await expect.poll(() => get(first.run_id).then(reads)).toBeGreaterThan(0);
  query.mockClear();
  const merge = (id: string) => ({ id, executor: { target: "merge" }, context_refs: refs });
  const ended = await run(["a", "b", "c"].map(merge));
  expect(ended.status).toBe("completed");
  expect(reads()).toBeGreaterThan(0);
  expect(reads()).toBeLessThan(20);
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

test("an agent whose model has no known price runs without a budget of money, and not with one", async () => {
  const parts = [scene("First", reply(say("Read.")))];
  const home = await openGraphHome({ parts, model: "anthropic:claude-unheard-of" });
  const one = { id: "one", executor: { type: "agent", target: "native" }, description: "First" };
  expect((await home.run([one])).status).toBe("completed");
  const bounded = await home.run([one], {}, { budget: { cost: 1 } });
  expect(bounded.status).toBe("failed");
  const refused = (await home.entries("policy_verdict")).map(({ payload }) => Object(payload));
  expect(refused.filter(({ verdict }) => verdict === "blocked")).toMatchObject([
    { reason: expect.stringContaining("the task's budget of 1 cannot hold") },
  ]);
  expect(home.model?.requests).toHaveLength(1);
});

test("agents that run together keep to the money of their run: one is stopped once it has used its share", async () => {
  const parts = ["First", "Second"].map((word) =>
    scene(word, reply(call("read_file", { path: "seed.txt" })), reply(say("Read."))),
  );
  const home = await openGraphHome({ parts });
  await writeFile(join(home.workspace, "seed.txt"), "green");
  const task = (id: string, description: string) => ({
    ...{ id, executor: { type: "agent", target: "native" }, description, resources: { writes: [] } },
  });
  const two = [task("one", "First"), task("two", "Second")];
  const free = await home.run(two, {}, { budget: { cost: 1_000 } });
  expect(free.status).toBe("completed");
  const read = async () => (await home.entries("tool_result")).filter(({ target }) => target === "read_file");
  expect(await read()).toHaveLength(2);
  // The first call of a model costs more than the share of each.
  await home.run(two, {}, { budget: { cost: 1e-9 } });
  const refused = (await home.entries("policy_verdict")).filter(
    ({ target, payload }) => target === "read_file" && Object(payload).verdict === "blocked",
  );
  expect(refused.map(({ payload }) => Object(payload).reason)).toEqual([
    expect.stringContaining("budget of 5e-10 is used up"),
    expect.stringContaining("budget of 5e-10 is used up"),
  ]);
  expect(await read()).toHaveLength(2);
});

test("what an agent has others do counts against what it was given itself", async () => {
  const help = reply(call("spawn_subagent", { prompt: "Help" }));
  const read = reply(call("read_file", { path: "seed.txt" }));
  const parts = [
    scene("Lead", help, help, reply(say("Led."))),
    scene("Help", read, read, reply(say("Helped."))),
  ];
  const home = await openGraphHome({ parts });
  await writeFile(join(home.workspace, "seed.txt"), "green");
  const lead = { id: "lead", executor: { type: "agent", target: "native" }, description: "Lead" };
  const reads = async () =>
    (await home.entries("tool_result")).filter(({ target }) => target === "read_file");
  expect((await home.run([lead])).status).toBe("completed");
  expect(await reads()).toHaveLength(4);
  await home.run([{ ...lead, budget: { calls: 4 } }]);
  expect(await reads()).toHaveLength(6);
  const refused = (await home.entries("policy_verdict")).filter(
    ({ payload }) => Object(payload).verdict === "blocked",
  );
  expect(refused.map(({ target, payload }) => [target, Object(payload).reason])).toContainEqual([
    "spawn_subagent",
    expect.stringContaining("the task's 4 calls are used up"),
  ]);
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

test("agents that start agents in graphs come to an end: they are as deep as the limit of delegation says", async () => {
  const dig = scene("Dig", reply(call("spawn_subagent", { prompt: "Dig" })), reply(say("Dug.")));
  const home = await openGraphHome({ parts: [dig] });
  const ended = await home.run([
    { id: "dig", executor: { type: "agent", target: "native" }, description: "Dig" },
  ]);
  expect(ended.status).toBe("completed");
  const spawned = (await home.entries("policy_verdict")).filter(({ target }) => target === "spawn_subagent");
  const depths = spawned.map(({ payload }) => Object(payload).subject.depth ?? 0);
  expect(new Set(depths).size).toBe(depths.length);
  expect(depths.length).toBeGreaterThan(1);
  expect(depths.length).toBeLessThan(12);
});

test("what the agent of an agent did in a failed attempt is repeated by no agent below before a person allows it", async () => {
  const ran = reply(call("run_command", { command: "echo done >> got.txt" }));
  const home = await openGraphHome({
    parts: [
      scene("INNER TASK", ran, reply(say("Done."))),
      scene("OTHER TASK", ran, reply(say("So."))),
      scene(
        "Another agent worked on this task",
        reply(call("spawn_subagent", { prompt: "OTHER TASK" })),
        reply(say("It is over.")),
      ),
      scene(
        "Do the work",
        reply(call("spawn_subagent", { prompt: "INNER TASK" })),
        refuse(400, "It ends here."),
      ),
    ],
  });
  const { run_id } = await home.start([
    {
      ...{ id: "do", executor: { type: "agent", target: "native" }, description: "Do the work" },
      failure_policy: { on_failure: "retry", max_attempts: 2, backoff_ms: 10 },
    },
  ]);
  const asked: string[] = [];
  for (const decision of ["allow_once", "deny"] as const) {
    const [approval] = await home.pending();
    asked.push(`${approval?.tool}: ${approval?.reason}`);
    await home.answer(approval?.id ?? "", decision);
  }
  expect(asked).toEqual([
    "spawn_subagent: spawn_subagent did the same in an earlier attempt",
    "run_command: run_command did the same in an earlier attempt",
  ]);
  expect((await home.ended(run_id)).actions[0]).toMatchObject({ status: "completed", attempts: 2 });
  expect(await textIn(join(home.workspace, "got.txt"))).toBe("done\n");
});

test("the actions of a session that may only read change nothing, in every kind of executor", async () => {
  const home = await openGraphHome({
    parts: [
      scene("Write", reply(call("write_file", { path: "agent.txt", content: "x" })), reply(say("No."))),
    ],
    graphs: {
      pipelines: {
        publish: {
          description: "Writes.",
          steps: [{ tool: "write_file", input: { path: "pipeline.txt", content: "x" } }],
        },
      },
    },
  });
  const connection = await home.hosting.hub.connect({ principal: home.principal, agent: "native" });
  const { signal } = new AbortController();
  const params = withReinsMeta({ cwd: home.workspace, mcpServers: [] }, { mutation_scope: "read_only" });
  const started = await home.hosting.hub.request(connection, "session/new", params, signal);
  const session = String(membersOf(started).sessionId);
  await writeFile(join(home.workspace, "seen.txt"), "seen");
  const policy = { failure_policy: "continue" };
  const run = await home.run(
    [
      {
        id: "tool",
        executor: { target: "write_file" },
        input: { path: "tool.txt", content: "x" },
        ...policy,
      },
      { id: "pipeline", executor: { type: "pipeline", target: "publish" }, ...policy },
      { id: "agent", executor: { type: "agent", target: "native" }, description: "Write", ...policy },
      command("command", "touch command.txt", policy),
      { id: "read", executor: { target: "read_file" }, input: { path: "seen.txt" } },
    ],
    { session },
  );
  const [tool, pipeline, , ran, read] = run.actions;
  for (const action of [tool, pipeline, ran])
    expect(action).toMatchObject({ status: "blocked", status_reason: expect.stringMatching(/read_only/) });
  expect(read?.status).toBe("completed");
  for (const name of ["tool", "pipeline", "agent", "command"])
    expect(await textIn(join(home.workspace, `${name}.txt`))).toBeUndefined();
});

test("hundreds of calls of a slow service are made a few at a time, and all of them", {
  timeout: 240_000,
}, async () => {
  let open = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const server = createServer((_, response) => {
    open += 1;
    most = Math.max(most, open);
    // Each is answered when the next ones have come, or no more are.
    waiting.push(() => {
      open -= 1;
      response.end("here");
    });
    setImmediate(() => waiting.shift()?.());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as { port: number };
  const services = { slow: { description: "Slow.", url: `http://127.0.0.1:${port}` } };
  const home = await openGraphHome({ graphs: { services, parallel: 8 } });
  const calls = Array.from({ length: 200 }, (_, index) => ({
    ...{ id: `c${index}`, executor: { type: "service", target: "slow" }, input: {} },
    resources: { writes: [] },
  }));
  const { run_id } = await home.start(calls);
  await expect
    .poll(async () => (await home.get(run_id)).ended_at, { timeout: 200_000, interval: 500 })
    .toBeDefined();
  expect((await home.get(run_id)).actions.filter(({ status }) => status !== "completed")).toEqual([]);
  expect(most).toBeLessThanOrEqual(8);
});

test("an action writes what it declares and nothing else, however that is spelled", async () => {
  const { run, workspace } = await openGraphHome();
  await mkdir(join(workspace, "src"));
  await mkdir(join(workspace, "docs"));
  await symlink(join(workspace, "docs"), join(workspace, "src", "link"));
  const write = (id: string, path: string, writes: readonly string[]) => ({
    ...{ id, executor: { type: "tool", target: "write_file" }, input: { path, content: id } },
    ...{ resources: { writes }, failure_policy: "continue" },
  });
  const ended = await run([
    write("inside", "src/a.txt", ["file:./src/"]),
    write("named", "b.txt", [`${workspace}/b.txt`]),
    write("beside", "docs/c.txt", ["src"]),
    write("above", "src/../d.txt", ["src"]),
    write("linked", "src/link/e.txt", ["src"]),
    write("nothing", "src/f.txt", []),
    write("foreign", "docs/h.txt", ["repo://other/docs", "file://elsewhere/docs", "~/docs"]),
    write("partly", "docs/i.txt", ["src", "repo://other/docs"]),
    write("own", "docs/j.txt", ["repo://other/src", "repo://current/docs"]),
    command("shell", "echo x > docs/g.txt", { resources: { writes: ["src"] } }),
    command("reads", "cat src/a.txt", { resources: { writes: [] }, depends_on: ["inside"] }),
  ]);
  expect(Object.fromEntries(ended.actions.map(({ id, status }) => [id, status]))).toEqual({
    ...{ inside: "completed", named: "completed", beside: "blocked", above: "blocked", linked: "blocked" },
    ...{ nothing: "blocked", foreign: "blocked", partly: "blocked", own: "completed" },
    ...{ shell: "blocked", reads: "completed" },
  });
  expect(ended.actions[2]?.status_reason).toBe(
    `the declaration of the task writes ${join(workspace, "src")}, and not ${join(workspace, "docs", "c.txt")}`,
  );
  for (const path of [
    "docs/c.txt",
    "d.txt",
    "docs/e.txt",
    "src/f.txt",
    "docs/g.txt",
    "docs/h.txt",
    "docs/i.txt",
  ])
    expect(await textIn(join(workspace, path)), path).toBeUndefined();
});

test("an action whose writes cannot be seen asks a person where it declares them, and is alone where it does not", async () => {
  const { start, pending, answer, ended, workspace } = await openGraphHome();
  await writeFile(join(workspace, "make.mjs"), "");
  const { run_id } = await start([
    command("opaque", "node make.mjs", { resources: { writes: ["out"] } }),
    command("claims", "node make.mjs", { side_effects: ["read"] }),
  ]);
  const [asked] = await pending(1);
  expect(asked?.reason).toBe("the task declares what it writes, and this may write more than can be seen");
  await answer(asked?.id ?? "", "deny");
  expect((await ended(run_id)).actions.map(({ status }) => status)).toEqual(["blocked", "completed"]);
});
