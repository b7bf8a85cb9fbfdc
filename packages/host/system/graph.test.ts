import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, membersOf, updateIn } from "@reins/acp";
import { expect, test, vi } from "vitest";
import { runPlace } from "../src/graph/sealed-artifacts.ts";
import { declaredRunTables } from "../src/graph/tables.ts";
import { command, declarationOf, openGraphHome } from "./fixtures/graph-home.ts";
import { textIn } from "./fixtures/home.ts";

test("stores the declaration as it was written, with its sections and their hashes", async () => {
  const { hosting, principal, ended, harness } = await openGraphHome();
  const message = `Some words first.

\`\`\`json agent-protocol
{ "type": "agent.protocol", "version": "1",   "intent": "execute", "payload": { "actions": [
  { "id": "merge", "executor": { "type": "runtime", "target": "merge" }, "context_refs": ["md:notes"] }
] } }
\`\`\`

## notes

What is to be known.

## not.used

Nothing refers to it.
`;
  const { run_id } = await hosting.graphs.start(principal, { message });
  const run = await ended(run_id);
  expect(run).toMatchObject({ status: "completed", declaration: message });
  const stored = await harness.store.query(declaredRunTables, "get", { tenant: "default", run: run_id });
  const place = { tenant: "default", run: run_id };
  const { graph, declaration } = JSON.parse(
    harness.vault.open(runPlace(place, "declared"), stored?.declared ?? ""),
  );
  expect(declaration).toBe(message);
  const text = graph.sections[0].text;
  expect(text.trim()).toBe("What is to be known.");
  const hash = createHash("sha256").update(text).digest("hex");
  expect(graph.sections).toEqual([{ id: "notes", text, hash }]);
  expect(graph.actions[0]).toMatchObject({ id: "merge", context: [{ kind: "section", id: "notes" }] });
});

const SECRET = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;

test("redacts secrets in what people are shown and in the ledger", async () => {
  const { hosting, principal, ended, workspace, ledger, harness } = await openGraphHome();
  await writeFile(join(workspace, "key.txt"), `token ${SECRET}`);
  const { run_id } = await hosting.graphs.start(principal, {
    declaration: {
      kind: "act",
      calls: [
        { id: "read", type: "tool", name: "read_file", args: { path: "key.txt" } },
        {
          id: "copy",
          type: "tool",
          name: "write_file",
          args: { path: "copy.txt", content: { $ref: "action:read.output" } },
        },
      ],
    },
  });
  const run = await ended(run_id);
  expect(run.status).toBe("completed");
  expect(JSON.stringify(run)).not.toContain(SECRET);
  const expanded = await hosting.graphs.expand(principal, run_id, "action:read.output", {});
  expect(expanded.text).not.toContain(SECRET);
  await harness.supervisor.close();
  const entries = await ledger.read({ limit: 1_000 });
  expect(JSON.stringify(entries)).not.toContain(SECRET);
  const log = await hosting.hub.log.page("default", [run.session_id], 0);
  expect(JSON.stringify(log)).not.toContain(SECRET);
  // What is done is exact.
  expect(await readFile(join(workspace, "copy.txt"), "utf8")).toBe(`token ${SECRET}`);
});

test("checks and shows a plan, and runs and decides nothing of it", async () => {
  const { hosting, principal, entries, workspace } = await openGraphHome();
  const plan = (actions: readonly object[]) =>
    hosting.graphs.start(principal, {
      declaration: declarationOf(actions, { intent: "plan", title: "Later" }),
    });
  const shown = await plan([
    command("write", "echo x > x.txt"),
    command("next", "true", { depends_on: ["write"] }),
  ]);
  expect(shown).toMatchObject({ plan: true, title: "Later", status: "pending" });
  expect(shown.actions.map(({ id, status }) => [id, status])).toEqual([
    ["write", "pending"],
    ["next", "pending"],
  ]);
  await expect(plan([command("write", "x", { depends_on: ["none"] })])).rejects.toThrow(/no action/);
  const decided = (await entries("policy_verdict")).filter(({ target }) => target === "run_command");
  expect(decided).toEqual([]);
  expect(await textIn(join(workspace, "x.txt"))).toBeUndefined();
});

test("has an event before each action, with its graph, its reason and who acts", async () => {
  const { run, harness, principal } = await openGraphHome();
  const decide = vi.spyOn(harness.supervisor, "decide");
  const more = { reason: "To see it.", operation: "look", depends_on: ["first"] };
  const { run_id } = await run([command("first", "true"), command("look", "true", more)]);
  const [event, subject] =
    decide.mock.calls.find(([one]) => Object(Object(one.payload).graph).action_id === "look") ?? [];
  expect(event).toMatchObject({
    event_type: "pre_action",
    payload: {
      tool_name: "run_command",
      arguments: { command: "true" },
      graph: {
        ...{ run_id, action_id: "look", reason: "To see it.", operation: "look" },
        ...{ depends_on: ["first"], executor: "tool:run_command" },
      },
    },
  });
  expect(subject).toMatchObject({ user: principal.user, tenant: principal.tenant });
});

test("reports its life, its tasks and its checks by AHP, also where it is canceled", async () => {
  const home = await openGraphHome();
  const { harness, principal } = home;
  const reports = async (run: string) =>
    Object.fromEntries((await harness.runs.find(principal, run)).map((one) => [one.contract, one.payload]));
  const checked = await home.run([
    command("test", "true", { operation: "run_tests", title: "The tests" }),
    command("lint", "false", { operation: "lint", failure_policy: "continue" }),
  ]);
  await expect
    .poll(() => reports(checked.run_id))
    .toMatchObject({
      run_lifecycle: { status: "completed", metadata: { graph: true } },
      task_list: {
        tasks: [
          { id: "test", title: "The tests", status: "completed" },
          { id: "lint", status: "failed" },
        ],
      },
      verification: {
        status: "failed",
        checks: [
          { id: "test", status: "passed" },
          { id: "lint", status: "failed" },
        ],
      },
    });
  const { run_id } = await home.start([command("gate", "true", { requires_approval: true })]);
  await home.pending(1);
  await home.hosting.graphs.cancel(principal, run_id);
  await expect
    .poll(() => reports(run_id))
    .toMatchObject({
      run_lifecycle: { status: "cancelled" },
      task_list: { tasks: [{ id: "gate", status: "cancelled" }] },
    });
});

test("is shown to any client by ACP: its plan, and a card for each attempt", async () => {
  const { hosting, principal, workspace, run, start, get, pending, answer, ended } = await openGraphHome();
  const updates: JsonObject[] = [];
  const connection = await hosting.hub.connect({
    ...{ principal, agent: "native" },
    outlet: {
      send: ({ method, params }: JsonObject) => {
        if (method === "session/update") updates.push(updateIn(params).update);
      },
      failed: () => undefined,
    },
  });
  const { signal } = new AbortController();
  const params = { cwd: workspace, mcpServers: [] };
  const started = await hosting.hub.request(connection, "session/new", params, signal);
  const session = membersOf(started).sessionId;
  await run([command("one", "true"), command("two", "false", { depends_on: ["one"], title: "Second" })], {
    session,
  });
  const of = (kind: string) => updates.filter(({ sessionUpdate }) => sessionUpdate === kind);
  await expect
    .poll(() => of("plan").at(-1))
    .toMatchObject({
      entries: [
        { content: "one", status: "completed" },
        { content: "Second", status: "completed" },
      ],
    });
  expect(of("tool_call").map(({ status, rawInput }) => [status, rawInput])).toEqual([
    ["pending", { command: "true" }],
    ["pending", { command: "false" }],
  ]);
  expect(of("tool_call_update").map(({ status }) => status)).toEqual([
    ...["in_progress", "completed", "in_progress", "failed"],
  ]);
  updates.length = 0;
  const retry = { on_failure: "retry", max_attempts: 2 };
  const asked = command("asked", "false", { requires_approval: true, failure_policy: retry });
  const { run_id } = await start([asked], { session });
  for (const attempt of [1, 2]) {
    await expect.poll(async () => (await get(run_id)).actions[0]).toMatchObject({ attempts: attempt });
    for (const { id } of await pending(1)) await answer(id, "allow_once");
  }
  await ended(run_id);
  const cards = of("tool_call").map(({ toolCallId }) => toolCallId);
  expect(cards).toEqual([1, 2].map((attempt) => `${run_id}/asked/${attempt}`));
});

test("holds the final report to the sections that the model fixed itself", async () => {
  const { hosting, run } = await openGraphHome();
  const { session_id } = await run([command("a", "true")]);
  const service = hosting.protocol.serviceFor("default");
  const { signal } = new AbortController();
  const says = (text: string) => service.declare(session_id, { text, calls: [], isComplete: true }, signal);
  await service.begin(session_id, "Report.");
  const spec = declarationOf([], { payload: { type: "final_report_spec", sections: ["Findings", "Risks"] } });
  await says(`\`\`\`json agent-protocol\n${JSON.stringify(spec)}\n\`\`\``);
  expect(await says("## Findings\n\nNone.")).toEqual({ kind: "again" });
  expect(await service.transcript(session_id)).toContain("Risks");
  const report = "## Findings\n\nNone.\n\n## Risks\n\nNone.";
  expect(await says(report)).toEqual({ kind: "over", text: report });
});
