import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RunGraph } from "@reins/api";
import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Served } from "./fixtures/home.ts";

const RULES = `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: never, condition: { tool_name_matches: [delete_file] }, verdict: blocked, reason: nothing is deleted }
  - { name: commands, condition: { tool_name_matches: [run_command] }, verdict: ask, reason: people decide }
  - { name: rest, condition: {}, verdict: allowed }
`;

const home = agentsForAll({ rules: RULES });

/** Posts a graph and returns how it stands. */
async function post(served: Served, body: object): Promise<RunGraph> {
  const { status, body: run, text } = await served.ask("POST", "/v1/runs", { body });
  expect(status, text).toBe(201);
  return RunGraph.parse(run);
}

async function graphOf(served: Served, id: string): Promise<RunGraph> {
  const { body, text, status } = await served.ask("GET", `/v1/runs/${id}/graph`);
  expect(status, text).toBe(200);
  return RunGraph.parse(body);
}

async function ended(served: Served, id: string): Promise<RunGraph> {
  await expect.poll(async () => (await graphOf(served, id)).ended_at).toBeDefined();
  return graphOf(served, id);
}

const statuses = ({ actions }: RunGraph) => Object.fromEntries(actions.map(({ id, status }) => [id, status]));

const action = (id: string, target: string, input: object, more: object = {}) => ({
  type: "action",
  id,
  executor: { type: "tool", target },
  input,
  ...more,
});

const declaration = (actions: readonly object[], more: object = {}) => ({
  type: "agent.protocol",
  version: "1",
  intent: "execute",
  payload: { type: "action_graph", actions },
  ...more,
});

describe("a graph that is posted", () => {
  test.each([
    ["executed", "execute", [action("a", "read_file", { path: "none" })]],
    ["empty", "execute", []],
    ["planned", "plan", [action("a", "read_file", { path: "none" })]],
  ])("and %s is found and listed as soon as its id is known", async (_, intent, actions) => {
    const served = await serveAgents(home());
    for (let round = 0; round < 5; round += 1) {
      const { run_id } = await post(served, { declaration: declaration(actions, { intent }) });
      const [shown, list] = await Promise.all([
        served.ask("GET", `/v1/runs/${run_id}`),
        served.ask("GET", "/v1/runs"),
      ]);
      expect(shown.status, shown.text).toBe(200);
      expect(list.text).toContain(run_id);
    }
    const damaged = await served.ask("GET", "/v1/runs?after=run_none");
    expect([damaged.status, damaged.text]).toEqual([
      400,
      expect.stringContaining("there is no run run_none"),
    ]);
  });

  test("runs the calls of the carrier in their order, each after a verdict of its own", async () => {
    const { workspace, harness } = home();
    await writeFile(join(workspace, "package.json"), '{ "name": "seen" }');
    const served = await serveAgents(home());
    const started = await post(served, {
      declaration: {
        kind: "act",
        message: "I will find project manifests, then read the package manifest.",
        calls: [
          { id: "find_manifests", type: "tool", name: "glob", args: { pattern: "*.json" } },
          {
            id: "read_package",
            type: "tool",
            name: "read",
            args: { filePath: "package.json" },
            depends: "find_manifests",
            result: "summary",
          },
        ],
      },
    });
    const run = await ended(served, started.run_id);
    expect(run).toMatchObject({ status: "completed", carrier: "api", plan: false, durable: false });
    expect(run.actions.map(({ result_summary }) => result_summary)).toEqual([
      "package.json",
      '{ "name": "seen" }',
    ]);
    expect(run.actions[1]).toMatchObject({ executor: { type: "tool", target: "read_file" }, attempts: 1 });
    const { status, body } = await served.ask("POST", `/v1/runs/${run.run_id}/expand`, {
      body: { ref: run.actions[1]?.details_ref },
    });
    expect([status, body]).toMatchObject([200, { text: '{ "name": "seen" }', truncated: false }]);
    const entries = await harness.ledger.read({ limit: 1_000 });
    const at = (cid: string | undefined) => entries.findIndex((placed) => placed.entry.cid === cid);
    for (const { verdict, id } of run.actions) {
      const result = entries.find(({ entry }) => Object(Object(entry.payload).graph).action_id === id);
      expect(at(verdict)).toBeGreaterThan(-1);
      expect(at(verdict)).toBeLessThan(at(result?.entry.cid));
      expect(result?.entry.payload).toMatchObject({ outcome: "completed", verdict, artifact: {} });
    }
  });

  test("hands outputs on, asks people, and goes on after what was refused", async () => {
    const { workspace, harness } = home();
    const served = await serveAgents(home());
    const started = await post(served, {
      declaration: declaration(
        [
          action("write", "write_file", { path: "note.txt", content: "a note" }),
          action("read", "read_file", { path: "note.txt" }, { depends_on: ["write"] }),
          action("copy", "write_file", { path: "copy.txt", content: { $ref: "action:read.output" } }),
          action("delete", "delete_file", { path: "note.txt" }, { depends_on: ["copy"] }),
          action("count", "run_command", { command: "wc -c < copy.txt" }, { depends_on: ["copy"] }),
        ],
        { persist: true, title: "Five actions" },
      ),
    });
    expect(started).toMatchObject({ title: "Five actions", durable: true });
    const { run_id } = started;
    await expect.poll(async () => statuses(await graphOf(served, run_id)).count).toBe("waiting");
    const waiting = await graphOf(served, run_id);
    expect(waiting).toMatchObject({ status: "waiting", waits_for: "permission" });
    expect(statuses(waiting)).toMatchObject({ copy: "completed", delete: "blocked", count: "waiting" });
    const { approval } = waiting.actions.find(({ id }) => id === "count") ?? {};
    const answer = await served.ask("POST", `/v1/approvals/${approval}/answer`, {
      body: { decision: "allow_once" },
    });
    expect(answer.status, answer.text).toBe(200);
    const run = await ended(served, run_id);
    expect(run).toMatchObject({ status: "blocked" });
    expect(statuses(run)).toEqual({
      write: "completed",
      read: "completed",
      copy: "completed",
      delete: "blocked",
      count: "completed",
    });
    expect(run.actions.find(({ id }) => id === "delete")?.status_reason).toMatch(/nothing is deleted/);
    expect(await readFile(join(workspace, "copy.txt"), "utf8")).toBe("a note");
    const [blocked] = await harness.ledger.read({ tag: "blocked", limit: 10 });
    expect(blocked?.entry.target).toBe("delete_file");
  });
});

test("a run that failed continues with what a revision puts in place of the rest", async () => {
  const { workspace } = home();
  await writeFile(join(workspace, "here.txt"), "found");
  const served = await serveAgents(home());
  const started = await post(served, {
    declaration: declaration([
      action("look", "read_file", { path: "here.txt" }),
      action("lost", "read_file", { path: "nowhere.txt" }, { depends_on: ["look"] }),
      action("last", "read_file", { path: "here.txt" }, { depends_on: ["lost"] }),
    ]),
    cwd: workspace,
  });
  const { run_id } = started;
  expect(statuses(await ended(served, run_id))).toEqual({
    look: "completed",
    lost: "failed",
    last: "canceled",
  });
  const write = { path: "copy.txt", content: { $ref: "action:look.output" } };
  const revised = { run_id, actions: [action("copy", "write_file", write, { depends_on: ["look"] })] };
  await post(served, { declaration: declaration([], { intent: "revise", payload: revised }) });
  await expect.poll(async () => (await graphOf(served, run_id)).status).toBe("completed");
  expect(statuses(await graphOf(served, run_id))).toMatchObject({ look: "completed", copy: "completed" });
  expect(await readFile(join(workspace, "copy.txt"), "utf8")).toContain("found");
  const unknown = { run_id, actions: [action("more", "read_file", { path: "x" }, { depends_on: ["gone"] })] };
  const body = { declaration: declaration([], { intent: "revise", payload: unknown }) };
  expect((await served.ask("POST", "/v1/runs", { body })).status).toBeGreaterThanOrEqual(400);
});

test.each(["a/b", "tenant:run", "", "../x", "é", "x".repeat(129)])(
  "a run is not given the id %j",
  async (run_id) => {
    const served = await serveAgents(home());
    const body = { declaration: declaration([]), cwd: home().workspace, run_id };
    expect((await served.ask("POST", "/v1/runs", { body })).status).toBe(400);
  },
);
