import { dirname } from "node:path";
import { actorOf } from "@reins/supervisor";
import { describe, expect, test, vi } from "vitest";
import { RecordedJournal } from "../src/graph/recorded-journal.ts";
import { RunStore } from "../src/graph/run-store.ts";
import { command, openGraphHome } from "./fixtures/graph-home.ts";

const passes = (id: string, more: object = {}) => ({
  ...{ id, executor: { type: "runtime", target: "checkpoint" }, input: {} },
  ...more,
});
const fails = (id: string, more: object = {}) => ({
  ...{ id, executor: { type: "tool", target: "read_file" }, input: { path: "none.txt" } },
  ...more,
});

type Home = Awaited<ReturnType<typeof openGraphHome>>;

/** What the ledger says of the changes of a run, the first first. */
async function recorded({ harness }: Home, run: string) {
  const entries = await harness.ledger.read({ tag: `run:${run}`, limit: 100 });
  return entries.flatMap(({ entry }) => (entry.quality === "session_lifecycle" ? [entry] : []));
}

test("a revision replaces the text under a heading, unless something runs with the former", async () => {
  const home = await openGraphHome();
  const { graphs } = home.hosting;
  const says = (executor: string, more: object = {}) => ({
    ...{ id: executor, executor: { target: executor }, context_refs: ["md:words"] },
    ...more,
  });
  const revise = (run_id: string, words: string) => {
    const payload = { run_id, actions: [says("merge")] };
    const declaration = { type: "agent.protocol", version: "1", intent: "revise", payload };
    return graphs.start(home.principal, { declaration, sections: { words } });
  };
  const former = { sections: { words: "The former text." } };
  const failed = await home.run([fails("a"), says("merge", { depends_on: ["a"] })], former);
  await revise(failed.run_id, "The new text.");
  expect((await home.ended(failed.run_id)).status).toBe("completed");
  expect(await home.output(failed.run_id, "merge")).toBe("The new text.");

  const { run_id } = await home.start([says("request_approval")], former);
  await home.pending(1);
  await expect(revise(run_id, "The new text.")).rejects.toThrow(
    /request_approval runs with another text of md:words/,
  );
  await revise(run_id, "The former text.");
  await expect.poll(async () => (await home.get(run_id)).actions[1]?.status).toBe("completed");
  expect(await home.output(run_id, "merge")).toBe("The former text.");
});

test.each([true, false])(
  "a run (durable: %s) keeps who decided, revised and canceled it, and what they said",
  async (persist) => {
    const home = await openGraphHome();
    const { hosting, principal } = home;
    const { run_id, session_id } = await home.start(
      [fails("a", { failure_policy: "ask_model" }), passes("b", { depends_on: ["a"] })],
      {},
      { persist },
    );
    await expect.poll(async () => (await home.get(run_id)).waits_for).toBe("model");
    const note = "The file is not needed; go on with \u202egnp.exe";
    await hosting.graphs.decide(principal, run_id, { action: "a", decision: "retry", note });
    await expect.poll(async () => (await home.get(run_id)).actions[0]?.attempts).toBe(2);
    await expect.poll(async () => (await home.get(run_id)).waits_for).toBe("model");
    const revision = {
      ...{ type: "agent.protocol", version: "1", intent: "revise", metadata: { spelled: "as it was" } },
      payload: { run_id, actions: [fails("c", { failure_policy: "ask_model" })] },
    };
    await hosting.graphs.start(principal, { declaration: revision });
    await expect.poll(async () => (await home.get(run_id)).actions.some(({ id }) => id === "c")).toBe(true);
    await expect.poll(async () => (await home.get(run_id)).waits_for).toBe("model");
    await hosting.graphs.cancel(principal, run_id, ["c"]);
    const { controls } = await home.ended(run_id);
    const by = actorOf(principal);
    expect(controls).toMatchObject([
      { kind: "decide", by, through: "client", actions: ["a"], decision: "retry", note },
      { kind: "revise", by, through: "client", actions: ["c"] },
      { kind: "cancel", by, through: "client", actions: ["c"] },
    ]);
    expect(controls[1]?.declaration).toBe(JSON.stringify(revision, null, 2));
    const entries = await recorded(home, run_id);
    expect(entries.map(({ tags, actor, payload }) => [tags[0], actor, Object(payload).note])).toEqual([
      ["run_decided", by, note],
      ["run_revised", by, undefined],
      ["run_canceled", by, undefined],
    ]);
    expect(entries.map(({ cid }) => cid)).toEqual(controls.map(({ entry }) => entry));
    // They stand in the chain of the session, before what came of them.
    const [first] = await home.harness.ledger.read({ tag: "session_start", limit: 1 });
    expect(first?.entry.target).toBe(session_id);
    for (const { entity_id } of entries) expect(entity_id).toBe(first?.entry.entity_id);
  },
);

test("a run keeps who canceled it, once, also where several do", async () => {
  const home = await openGraphHome();
  const { hosting, principal } = home;
  const { run_id } = await home.start([passes("a", { requires_approval: true })], {}, { persist: true });
  await home.pending();
  await Promise.allSettled([
    hosting.graphs.cancel(principal, run_id),
    hosting.graphs.cancel(principal, run_id),
  ]);
  const { controls, status } = await home.ended(run_id);
  expect([status, controls]).toMatchObject(["canceled", [{ kind: "cancel", by: actorOf(principal) }]]);
  expect((await recorded(home, run_id)).map(({ tags }) => tags[0])).toEqual(["run_canceled"]);
});

test("a run that ends with its session says so", async () => {
  const home = await openGraphHome();
  const { hosting, principal } = home;
  const { run_id, session_id } = await home.start([passes("a", { requires_approval: true })]);
  await home.pending();
  await (await hosting.hub).terminate(principal, session_id);
  const { controls } = await home.ended(run_id);
  expect(controls).toMatchObject([
    { kind: "cancel", by: "reins:system", through: "runtime", note: "its session has ended" },
  ]);
});

test("who changed a run is known with its entry where Reins is killed before it has noted that", async () => {
  const killed = [
    vi.spyOn(RunStore.prototype, "flush").mockResolvedValue(),
    vi.spyOn(RecordedJournal.prototype, "end").mockReturnValue(new Promise(() => undefined)),
  ];
  const first = await openGraphHome();
  const { graphs } = first.hosting;
  const { run_id } = await first.start(
    [fails("a", { failure_policy: "ask_model" }), passes("b", { requires_approval: true })],
    {},
    { persist: true },
  );
  await expect.poll(async () => (await first.get(run_id)).actions[0]?.status).toBe("failed");
  await graphs.decide(first.principal, run_id, { action: "a", decision: "continue" });
  graphs.cancel(first.principal, run_id).catch(() => undefined);
  await expect.poll(() => recorded(first, run_id)).toHaveLength(2);
  await first.close();
  for (const one of killed) one.mockRestore();
  const second = await openGraphHome({ folder: dirname(first.home) });
  const { status, controls } = await second.ended(run_id);
  expect([status, controls]).toMatchObject(["canceled", [{ kind: "decide" }, { kind: "cancel" }]]);
  expect(controls.map(({ by }) => by)).toEqual(Array(2).fill(actorOf(first.principal)));
  const entries = await recorded(second, run_id);
  expect(controls.map(({ entry }) => entry)).toEqual(entries.map(({ cid }) => cid));
});

test("what was changed in a run is known after a restart, and once", async () => {
  const first = await openGraphHome();
  const { run_id } = await first.start(
    [fails("a", { failure_policy: "ask_model" }), passes("b", { requires_approval: true })],
    {},
    { persist: true },
  );
  await expect.poll(async () => (await first.get(run_id)).actions[0]?.status).toBe("failed");
  const { graphs } = first.hosting;
  await graphs.decide(first.principal, run_id, { action: "a", decision: "continue", note: "not needed" });
  await first.close();
  const second = await openGraphHome({ folder: dirname(first.home) });
  const { controls } = await second.get(run_id);
  expect(controls).toMatchObject([{ kind: "decide", actions: ["a"], note: "not needed" }]);
  expect(controls).toHaveLength(1);
});

describe("what a model says", () => {
  const { signal } = new AbortController();
  const fenced = (declared: object) => `\`\`\`json agent-protocol\n${JSON.stringify(declared)}\n\`\`\``;
  const expand = (ref: string) => ({
    text: fenced({
      ...{ type: "agent.protocol", version: "1", intent: "expand_ref" },
      payload: { refs: [{ ref }] },
    }),
    ...{ calls: [], isComplete: true },
  });

  test("beside an answer, or instead of a declaration, is on the record where nothing runs", async () => {
    const home = await openGraphHome();
    const { session_id } = await home.start([]);
    const service = home.hosting.protocol.serviceFor("default");
    const answer = { name: "AgentProtocolOutput", arguments: '{"kind":"answer","message":"It is green."}' };
    const beside = { type: "agent.protocol", version: "1", intent: "execute", payload: {} };
    await service.declare(session_id, { text: fenced(beside), calls: [answer], isComplete: true }, signal);
    const unknown = { name: "no_such_tool", arguments: "{}" };
    await service.declare(session_id, { text: "", calls: [unknown], isComplete: true }, signal);
    const [start] = await home.harness.ledger.read({ tag: "session_start", limit: 1 });
    const noted = async (tag: string) => {
      const entries = await home.harness.ledger.read({ tag, limit: 10 });
      return entries.map(({ entry: { entity_id, payload } }) => [entity_id, payload]);
    };
    const chain = start?.entry.entity_id;
    expect(await noted("protocol_violated")).toMatchObject([
      [chain, { violations: [{ kind: "block_beside_call", detail: "json agent-protocol" }] }],
    ]);
    expect(await noted("protocol_refused")).toMatchObject([
      [chain, { code: "executor", reason: expect.stringContaining("no_such_tool") }],
    ]);
  });

  test("expands what another run stored also in a session without runs, and names what is missing otherwise", async () => {
    const home = await openGraphHome();
    const { run_id } = await home.run([command("count", "seq 3")]);
    const { session_id } = await home.start([]);
    const service = home.hosting.protocol.serviceFor("default");
    await service.declare(session_id, expand(`runtime://runs/${run_id}/actions/count/output`), signal);
    expect(await service.transcript(session_id)).toMatch(/## Expanded reference[\s\S]*1\n2\n3\n/);
    await service.declare(session_id, expand("artifact:count"), signal);
    expect(await service.transcript(session_id)).toContain(
      "no run of this session has artifact:count; name one",
    );
  });
});

test("the steps of a pipeline have names, by which people and the record know them", async () => {
  const steps = [
    { name: "build", tool: "run_command", input: { command: "true" } },
    { name: "clean", tool: "delete_file", input: { path: "old.txt" } },
    { tool: "run_command", input: { command: "true" } },
  ];
  const pipelines = { release: { description: "Builds and cleans.", steps } };
  const home = await openGraphHome({
    rules: `tool_rules:
  - { name: never, condition: { tool_name_matches: [delete_file] }, verdict: blocked, reason: nothing is deleted }
  - { name: all, condition: {}, verdict: allowed }
`,
    graphs: { pipelines },
  });
  const { run_id, actions } = await home.run([
    { id: "a", title: "Release it", executor: { type: "pipeline", target: "release" } },
  ]);
  expect(actions[0]?.status_reason).toMatch(/^clean: delete_file was refused: .*nothing is deleted/);
  const calls = (await home.entries("tool_call")).map(({ payload }) => Object(payload).call);
  expect(calls).toContain(`${run_id}/a/1/1-build`);
  const decided = (await home.entries("policy_verdict")).map(({ payload }) => Object(payload).facts?.claims);
  expect(decided).toContainEqual(expect.objectContaining({ title: "Release it: build" }));
});
