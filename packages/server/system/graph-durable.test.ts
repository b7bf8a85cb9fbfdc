import { mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { RunGraph } from "@reins/api";
import { describe, expect, onTestFinished, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { ServerProcess } from "./fixtures/server-process/server-process.ts";

const RULES = `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: commands, condition: { tool_name_matches: [delete_file] }, verdict: ask, reason: people decide }
  - { name: rest, condition: {}, verdict: allowed }
`;

async function newBase(): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "graphs-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  return base;
}

async function start(base: string) {
  const server = await ServerProcess.start({ base, rules: RULES });
  onTestFinished(() => server.kill());
  const headers = { authorization: `Bearer ${server.token}` };
  const call = (method: string, path: string, body?: object) =>
    ask(server.address, method, path, { headers, ...(body && { body }) });
  const graph = async (id: string) => {
    const { body, text, status } = await call("GET", `/v1/runs/${id}/graph`);
    expect(status, text).toBe(200);
    return RunGraph.parse(body);
  };
  const post = async (actions: readonly object[], more: object = {}) => {
    const declaration = {
      type: "agent.protocol",
      version: "1",
      intent: "execute",
      persist: true,
      execution: { mode: "durable", strategy: "dag" },
      payload: { type: "action_graph", actions },
    };
    const { body, status, text } = await call("POST", "/v1/runs", { declaration, ...more });
    expect(status, text).toBe(201);
    return RunGraph.parse(body);
  };
  const status = async (id: string, action: string) =>
    (await graph(id)).actions.find((one) => one.id === action)?.status;
  return { server, call, graph, post, status };
}

/** Appends a line to a file: done twice, it shows. */
const append = (id: string, more: object = {}) => ({
  id,
  executor: { type: "tool", target: "run_command" },
  input: { command: `echo ${id} >> done.txt` },
  ...more,
});

const linesIn = async (folder: string, file = "done.txt") =>
  (await import("node:fs/promises"))
    .readFile(join(folder, file), "utf8")
    .then((text) => text.trim().split("\n"))
    .catch(() => []);

const LONG = { timeout: 120_000 };

describe("a durable run", LONG, () => {
  test("waits for the same approval after a kill, and each effect happens once", async () => {
    const base = await newBase();
    const first = await start(base);
    const names = Array.from({ length: 10 }, (_, index) => `a${index + 1}`);
    const actions = names.map((name, index) =>
      append(name, {
        ...(index > 0 && { depends_on: [names[index - 1]] }),
        ...(name === "a5" && { requires_approval: true }),
      }),
    );
    const { run_id } = await first.post(actions, { run_id: "ten" });
    await expect.poll(() => first.status(run_id, "a5")).toBe("waiting");
    const before = await first.graph(run_id);
    const { approval } = before.actions[4] ?? {};
    await first.server.kill();

    const second = await start(base);
    await expect.poll(() => second.status(run_id, "a5")).toBe("waiting");
    const pending = Object((await second.call("GET", "/v1/approvals?state=pending")).body).approvals;
    expect(pending.map(({ id }: { id: string }) => id)).toEqual([approval]);
    expect(await second.post(actions, { run_id: "ten" })).toMatchObject({ run_id: "ten" });
    await second.call("POST", `/v1/approvals/${approval}/answer`, { decision: "allow_once" });
    await expect.poll(async () => (await second.graph(run_id)).status).toBe("completed");
    expect(await linesIn(second.server.workspace)).toEqual(names);
    const reported = async () => Object((await second.call("GET", `/v1/runs/${run_id}`)).body);
    await expect.poll(reported).toMatchObject({ has_graph: true, run_lifecycle: { status: "completed" } });
    expect((await reported()).task_list.tasks).toHaveLength(10);
  });

  test("begins after a kill that came before its journal was written", async () => {
    const base = await newBase();
    const first = await start(base);
    const { run_id } = await first.post([append("a", { requires_approval: true })]);
    await expect.poll(() => first.status(run_id, "a")).toBe("waiting");
    const { approval } = (await first.graph(run_id)).actions[0] ?? {};
    await first.server.kill();
    const database = new DatabaseSync(join(base, "home", "reins.db"));
    for (const table of ["graph_entries", "graph_runs"]) database.exec(`DELETE FROM ${table}`);
    database.close();
    const second = await start(base);
    await second.call("POST", `/v1/approvals/${approval}/answer`, { decision: "allow_once" });
    await expect.poll(async () => (await second.graph(run_id)).status).toBe("completed");
    expect(await linesIn(second.server.workspace)).toEqual(["a"]);
  });

  test("counts an answer that was given while nothing ran, and holds its timers", async () => {
    const base = await newBase();
    const first = await start(base);
    const { run_id } = await first.post([
      append("a", { requires_approval: true }),
      { id: "pause", executor: { type: "runtime", target: "wait" }, input: { seconds: 4 } },
      append("b", { depends_on: ["a", "pause"] }),
    ]);
    await expect.poll(() => first.status(run_id, "a")).toBe("waiting");
    const started = Date.parse((await first.graph(run_id)).started_at);
    const { approval } = (await first.graph(run_id)).actions[0] ?? {};
    await first.call("POST", `/v1/approvals/${approval}/answer`, { decision: "allow_once" });
    await first.server.kill();
    const second = await start(base);
    await expect.poll(async () => (await second.graph(run_id)).status).toBe("completed");
    expect(await linesIn(second.server.workspace)).toEqual(["a", "b"]);
    const ended = Date.parse((await second.graph(run_id)).actions[1]?.ended_at ?? "");
    expect(ended - started).toBeGreaterThan(3_900);
  });

  test("fails where the outcome of an effect is unknown, also where the model says that it may be repeated", async () => {
    const base = await newBase();
    const first = await start(base);
    const slow = (id: string, more: object = {}) => ({
      ...append(id, more),
      // Each writes a file of its own, so that they are under way together.
      input: { command: `echo ${id} >> ${id}.txt; sleep 5` },
      resources: { writes: [`${id}.txt`] },
    });
    const ids = ["plain", "retried", "safe"];
    const lines = async ({ workspace }: typeof first.server) =>
      (await Promise.all(ids.map((id) => linesIn(workspace, `${id}.txt`)))).flat();
    const { run_id } = await first.post([
      slow("plain", { failure_policy: "continue" }),
      slow("safe", { idempotency: "safe", failure_policy: "continue" }),
      slow("retried", { idempotency: "safe", failure_policy: "retry" }),
    ]);
    await expect.poll(() => lines(first.server)).toEqual(ids);
    await first.server.kill();
    const second = await start(base);
    await expect.poll(async () => (await second.graph(run_id)).status).toBe("failed");
    const run = await second.graph(run_id);
    for (const action of run.actions)
      expect(action).toMatchObject({
        status: "failed",
        status_reason: expect.stringMatching(/outcome is unknown/),
        attempts: 1,
      });
    expect(await lines(second.server)).toEqual(ids);
  });

  test("is decided about after it failed, and continues where it was", async () => {
    const base = await newBase();
    const { post, graph, call, server } = await start(base);
    const { run_id } = await post([
      append("a"),
      { ...append("b", { depends_on: ["a"] }), input: { command: "test -e go && echo b >> done.txt" } },
      append("c", { depends_on: ["b"] }),
    ]);
    await expect.poll(async () => (await graph(run_id)).status).toBe("failed");
    expect((await graph(run_id)).actions.map(({ status }) => status)).toEqual([
      "completed",
      "failed",
      "canceled",
    ]);
    await (await import("node:fs/promises")).writeFile(join(server.workspace, "go"), "");
    const decided = await call("POST", `/v1/runs/${run_id}/decide`, { action: "b", decision: "retry" });
    expect(decided.status, decided.text).toBe(200);
    await expect.poll(async () => (await graph(run_id)).status).toBe("completed");
    expect(await linesIn(server.workspace)).toEqual(["a", "b", "c"]);
    expect((await call("POST", `/v1/runs/${run_id}/decide`, { action: "b", decision: "retry" })).status).toBe(
      409,
    );
    expect(await readdir(server.workspace)).toContain("done.txt");
  });
});

test("a run that is not durable has failed after a restart", LONG, async () => {
  const base = await newBase();
  const first = await start(base);
  const { body } = await first.call("POST", "/v1/runs", {
    declaration: {
      kind: "act",
      calls: [{ id: "del", type: "tool", name: "delete_file", args: { path: "x" } }],
    },
  });
  const { run_id } = RunGraph.parse(body);
  await expect.poll(() => first.status(run_id, "del")).toBe("waiting");
  await first.server.kill();
  const second = await start(base);
  expect(await second.graph(run_id)).toMatchObject({
    status: "failed",
    status_reason: expect.stringMatching(/not durable/),
  });
  const pending = Object((await second.call("GET", "/v1/approvals?state=pending")).body).approvals;
  expect(pending).toEqual([]);
});
