import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { RunGraph } from "@reins/api";
import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { Events } from "./fixtures/events.ts";
import type { Served } from "./fixtures/home.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const RULES = `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: deletes, condition: { tool_name_matches: [delete_file] }, verdict: ask, four_eyes: true }
  - { name: commands, condition: { tool_name_matches: [run_command] }, verdict: ask, reason: people decide }
  - { name: rest, condition: {}, verdict: allowed }
`;

const home = agentsForAll({ rules: RULES });

const envelope = (actions: readonly object[], more: object = {}) => ({
  type: "agent.protocol",
  version: "1",
  intent: "execute",
  payload: { type: "action_graph", actions },
  ...more,
});
const write = (id: string, more: object = {}) => ({
  id,
  executor: { type: "tool", target: "write_file" },
  input: { path: `${id}.txt`, content: id },
  ...more,
});

async function post(served: Served, body: object, as?: string): Promise<RunGraph> {
  const answer = await served.ask("POST", "/v1/runs", { body, as });
  expect(answer.status, answer.text).toBe(201);
  return RunGraph.parse(answer.body);
}

async function graphOf(served: Served, id: string, as?: string): Promise<RunGraph> {
  const { status, body, text } = await served.ask("GET", `/v1/runs/${id}/graph`, { as });
  expect(status, text).toBe(200);
  return RunGraph.parse(body);
}

const over = (served: Served, id: string, as?: string) =>
  expect
    .poll(async () => (await graphOf(served, id, as)).ended_at)
    .toBeDefined()
    .then(() => graphOf(served, id, as));

const BAD: readonly (readonly [string, object, RegExp])[] = [
  ["no declaration", {}, /either a declaration or a message/],
  ["a declaration and a message", { declaration: envelope([]), message: "x" }, /either/],
  ["a message without a block", { message: "Hello." }, /declares nothing/],
  [
    "two blocks",
    { message: "```json agent-protocol\n{}\n```\n\n```json agent-protocol\n{}\n```" },
    /2 declarations/,
  ],
  ["an open block", { message: '```json agent-protocol\n{"type":' }, /not closed/],
  ["another version", { declaration: envelope([write("a")], { version: "9" }) }, /version/],
  ["an unknown member", { declaration: envelope([write("a", { shell: "rm" })]) }, /shell/],
  [
    "a cycle",
    { declaration: envelope([write("a", { depends_on: ["b"] }), write("b", { depends_on: ["a"] })]) },
    /circle/,
  ],
  ["a missing dependency", { declaration: envelope([write("a", { depends_on: ["x"] })]) }, /no action/],
  ["two actions of one id", { declaration: envelope([write("a"), write("a")]) }, /two actions/],
  [
    "an unknown executor",
    { declaration: envelope([{ id: "a", executor: { type: "tool", target: "format_disk" }, input: {} }]) },
    /no executor fits/,
  ],
  [
    "capabilities of none",
    {
      declaration: envelope([{ id: "a", executor: { type: "tool", capabilities: ["teleport"] }, input: {} }]),
    },
    /no executor fits/,
  ],
  [
    "wrong arguments of a tool",
    { declaration: envelope([write("a"), { ...write("b"), input: { path: 7 } }]) },
    /arguments of write_file/,
  ],
  [
    "a reference to nothing",
    { declaration: envelope([write("a"), { ...write("b"), prompt_ref: "md:none" }]) },
    /md:none/,
  ],
  [
    "a run that is not there",
    {
      declaration: envelope([
        write("a"),
        write("b", { context_refs: ["runtime://run_none/actions/x/output"] }),
      ]),
    },
    /there is no run/,
  ],
  [
    "an input that is not there",
    {
      declaration: envelope([{ ...write("a"), input: { path: "a", content: { $ref: "input:user.goal" } } }]),
    },
    /input:user\.goal/,
  ],
  [
    "a budget that cannot do",
    { declaration: envelope([write("a"), write("b")], { budget: { calls: 1 } }) },
    /budget/,
  ],
  [
    "writes that are refused",
    { declaration: envelope([write("a"), write("b")], { conflict_resolution: "refuse" }) },
    /same resource/,
  ],
  [
    "a durable run that is not persisted",
    { declaration: envelope([write("a")], { execution: { mode: "durable" }, persist: false }) },
    /persist/,
  ],
  [
    "too many actions",
    { declaration: envelope(Array.from({ length: 1_001 }, (_, index) => write(`a${index}`))) },
    /1000 actions|1,000 actions|at most/,
  ],
  ["an agent that there is not", { declaration: envelope([write("a")]), agent: "../../evil" }, /no agent/],
  [
    "a text in place of a number",
    {
      declaration: envelope([
        { id: "a", executor: { type: "runtime", target: "wait" }, input: { seconds: "1" } },
      ]),
    },
    /seconds has to be a number/,
  ],
  [
    "a decision about no run",
    {
      declaration: {
        ...envelope([]),
        intent: "decide",
        payload: { run_id: "r", action_id: "a", decision: "retry" },
      },
    },
    /there is no run/,
  ],
];

describe("a bad declaration", () => {
  test.each(BAD)("with %s is refused and executes nothing", async (_, body, why) => {
    const served = await serveAgents(home());
    const before = (await home().harness.ledger.read({ quality: "tool_call", limit: 1_000 })).length;
    const { status, text } = await served.ask("POST", "/v1/runs", { body });
    expect([400, 404], text).toContain(status);
    expect(text).toMatch(why);
    await expect(readFile(join(home().workspace, "a.txt"))).rejects.toThrow();
    const after = (await home().harness.ledger.read({ quality: "tool_call", limit: 1_000 })).length;
    expect(after).toBe(before);
  });

  test("reads nothing outside of the workspace, and the rest of its graph does not run", async () => {
    const served = await serveAgents(home());
    const started = await post(served, {
      declaration: envelope([
        { id: "peek", executor: { target: "read_file" }, input: { path: "../home/start-token" } },
        write("after-peek", { depends_on: ["peek"] }),
      ]),
    });
    const run = await over(served, started.run_id);
    expect(run.actions.map(({ status }) => status)).toEqual(["failed", "canceled"]);
    expect(run.actions[0]?.status_reason).toMatch(/outside of the workspace/);
  });
});

test("an action that asks for an approval itself is not approved by its user where a rule wants four eyes", async () => {
  const served = await serveAgents(home());
  const [asks, other] = [await served.person(), await served.person({ roles: ["approver"] })];
  await writeFile(join(home().workspace, "old.txt"), "x");
  for (const more of [{ requires_approval: true }, { side_effects: ["delete"] }, {}]) {
    const remove = { ...write("remove", more), executor: { type: "tool", target: "delete_file" } };
    const declaration = envelope([{ ...remove, input: { path: "old.txt" } }], {
      approval_gates: "side_effects" in more ? [{ before: "remove" }] : undefined,
    });
    const { run_id } = await post(served, { declaration }, asks.secret);
    const approval = () => graphOf(served, run_id, asks.secret).then(({ actions }) => actions[0]?.approval);
    await expect.poll(approval).toBeDefined();
    const answer = (as: string, decision: string) =>
      approval().then((id) => served.ask("POST", `/v1/approvals/${id}/answer`, { as, body: { decision } }));
    expect((await answer(asks.secret, "allow_once")).status).toBe(403);
    expect((await graphOf(served, run_id, asks.secret)).actions[0]?.status).toBe("waiting");
    expect((await answer(other.secret, "deny")).status).toBe(200);
    expect((await over(served, run_id, asks.secret)).actions[0]?.status).toBe("blocked");
  }
  expect(await readFile(join(home().workspace, "old.txt"), "utf8")).toBe("x");
});

test("a body that is nested very deep is refused, wherever it is, and the server goes on", async () => {
  const served = await serveAgents(home());
  for (const depth of [600, 100_000]) {
    const deep = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const hole = JSON.stringify("hole");
    for (const body of [
      { declaration: envelope([{ ...write("a"), input: { path: "a.txt", content: "x", more: "hole" } }]) },
      { declaration: envelope([write("a", { metadata: { more: "hole" } })]) },
      { declaration: envelope([write("a")], { metadata: { more: "hole" } }) },
      { declaration: envelope([write("a")]), context: { more: "hole" } },
      { declaration: "hole" },
    ]) {
      const answer = await fetch(`${served.address}/v1/runs`, {
        method: "POST",
        headers: { authorization: `Bearer ${served.access.token}`, "content-type": "application/json" },
        body: JSON.stringify(body).replace(hole, deep),
      });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/deep|nest/)]);
    }
  }
  await expect(readFile(join(home().workspace, "a.txt"))).rejects.toThrow();
  const fine = await post(served, { declaration: envelope([write("fine")]) });
  expect((await over(served, fine.run_id)).status).toBe("completed");
});

describe("a run of another", () => {
  test("is not there for others, and its results are no reference for them", async () => {
    const served = await serveAgents(home());
    const [mine, theirs] = [await served.person(), await served.person()];
    const run = await post(served, { declaration: envelope([write("mine")]) }, mine.secret);
    await over(served, run.run_id, mine.secret);
    const as = theirs.secret;
    for (const [method, path, body] of [
      ["GET", "graph", undefined],
      ["POST", "cancel", {}],
      ["POST", "decide", { action: "mine", decision: "retry" }],
      ["POST", "expand", { ref: "artifact:mine" }],
    ] as const) {
      const { status } = await served.ask(method, `/v1/runs/${run.run_id}/${path}`, {
        as,
        ...(body && { body }),
      });
      expect([path, status]).toEqual([path, 404]);
    }
    const stolen = envelope([
      {
        ...write("stolen"),
        input: { path: "stolen.txt", content: { $ref: `runtime://${run.run_id}/actions/mine/output` } },
      },
    ]);
    const refused = await served.ask("POST", "/v1/runs", { body: { declaration: stolen }, as });
    expect([refused.status, refused.text]).toEqual([400, expect.stringMatching(/there is no run/)]);
    const session = await served.ask("POST", "/v1/runs", {
      body: { declaration: envelope([write("x")]), session: run.session_id },
      as,
    });
    expect(session.status).toBe(404);
    const taken = await served.ask("POST", "/v1/runs", {
      body: { declaration: envelope([write("x")]), run_id: run.run_id },
      as,
    });
    expect(taken.status).toBe(409);
  });

  test("has no events for others, in the same tenant or in another", async () => {
    const served = await serveAgents(home());
    const [mine, theirs] = [await served.person(), await served.person()];
    const foreign = await served.person({ tenant: "acme", roles: ["admin"] });
    const { run_id } = await post(served, { declaration: envelope([write("mine")]) }, mine.secret);
    await over(served, run_id, mine.secret);
    expect((await served.ask("GET", `/v1/runs/${run_id}/events`, { as: mine.secret })).status).toBe(200);
    for (const { secret: as } of [theirs, foreign]) {
      for (const path of ["", "/events", "/graph"])
        expect((await served.ask("GET", `/v1/runs/${run_id}${path}`, { as })).status, path).toBe(404);
      const { runs, identity } = served.harness;
      const principal = await identity.authenticate(as);
      const own = { run_id: "own", session_id: "s", updated_at: "2026-01-01T00:00:01Z", status: "created" };
      await runs.note(principal!, "run_lifecycle", { ...own, status: "created" });
      // What it may see comes first, though much of the other run is stored before it.
      const stream = await Events.open(served, { "last-event-id": "0" }, as, "/v1/runs/stream");
      await expect.poll(async () => Object((await stream.next())?.data).run_id).toBe("own");
    }
  });

  test("does not show what its declaration withholds", async () => {
    const served = await serveAgents(home());
    const started = await post(served, {
      declaration: envelope([write("quiet", { data_visibility: ["logs"] })]),
    });
    const run = await over(served, started.run_id);
    expect(run.actions[0]).not.toHaveProperty("result_summary");
    const { status, text } = await served.ask("POST", `/v1/runs/${run.run_id}/expand`, {
      body: { ref: "artifact:quiet" },
    });
    expect([status, text]).toEqual([400, expect.stringMatching(/withheld/)]);
    const again = await served.ask("POST", "/v1/runs", {
      body: { declaration: envelope([write("y", { context_refs: [`artifact://${run.run_id}/quiet`] })]) },
    });
    expect([again.status, again.text]).toEqual([400, expect.stringMatching(/withheld/)]);
  });
});

const command = (id: string, line: string, more: object = {}) => ({
  id,
  executor: { type: "tool", target: "run_command" },
  input: { command: line },
  ...more,
});

/** The approval that an action waits for. */
async function approvalOf(served: Served, run: string, id: string, as?: string): Promise<string> {
  const find = async () => {
    const found = (await graphOf(served, run, as)).actions.find((action) => action.id === id);
    return found?.status === "waiting" ? found.approval : undefined;
  };
  await expect.poll(find).toBeDefined();
  return (await find()) ?? "";
}

describe("a run under way", () => {
  test("does nothing for a principal that was revoked while it waited", async () => {
    const served = await serveAgents(home());
    const { id, secret } = await served.person();
    const declaration = envelope([command("late", "echo late > late.txt")], { persist: true });
    const { run_id } = await post(served, { declaration }, secret);
    const approval = await approvalOf(served, run_id, "late");
    await home().harness.identity.revokeToken(id, home().harness.identity.local());
    await served.ask("POST", `/v1/approvals/${approval}/answer`, { body: { decision: "allow_once" } });
    const run = await over(served, run_id);
    expect(run.actions[0]?.status).toBe("blocked");
    await expect(readFile(join(home().workspace, "late.txt"))).rejects.toThrow();
  });

  test("is canceled once, with its question withdrawn and nothing done", async () => {
    const served = await serveAgents(home());
    const { run_id } = await post(served, {
      declaration: envelope([
        command("asks", "echo asks > asks.txt"),
        write("behind", { depends_on: ["asks"] }),
      ]),
    });
    const approval = await approvalOf(served, run_id, "asks");
    const path = `/v1/runs/${run_id}/cancel`;
    const answers = await Promise.all([1, 2, 3].map(() => served.ask("POST", path, { body: {} })));
    expect(answers.map(({ status }) => status).toSorted()).toContain(200);
    const run = await over(served, run_id);
    expect(run).toMatchObject({ status: "canceled" });
    expect(run.actions.map(({ status }) => status)).toEqual(["canceled", "canceled"]);
    expect((await served.ask("POST", path, { body: {} })).status).toBe(409);
    const { body } = await served.ask("GET", `/v1/approvals/${approval}`);
    expect(body).toMatchObject({ state: "withdrawn" });
  });

  test("ends with its session", async () => {
    const served = await serveAgents(home());
    const { run_id, session_id } = await post(served, {
      declaration: envelope([command("asks", "echo ended > ended.txt")], { persist: true }),
    });
    await approvalOf(served, run_id, "asks");
    const client = await RpcClient.open(served, { agent: "native" });
    await client.result("session/close", { sessionId: session_id }).catch(() => undefined);
    await home().hosting.hub.terminate(home().harness.identity.local(), session_id);
    const run = await over(served, run_id);
    expect(["canceled", "blocked"]).toContain(run.status);
    await expect(readFile(join(home().workspace, "ended.txt"))).rejects.toThrow();
  });

  test("goes on when the client that posted it is gone", async () => {
    const served = await serveAgents(home());
    const { hostname, port } = new URL(served.address);
    const body = JSON.stringify({ declaration: envelope([write("gone")]), run_id: "gone" });
    const sent = request({
      ...{ hostname, port, method: "POST", path: "/v1/runs" },
      headers: {
        authorization: `Bearer ${served.access.token}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      },
    });
    sent.on("error", () => undefined);
    sent.end(body);
    await once(sent, "finish");
    await expect.poll(async () => (await served.ask("GET", "/v1/runs/gone/graph")).status).toBe(200);
    sent.destroy();
    expect((await over(served, "gone")).status).toBe("completed");
  });

  test("writes whole files, also where another one writes the same", async () => {
    const served = await serveAgents(home());
    const text = (letter: string) => letter.repeat(200_000);
    const both = await Promise.all(
      ["x", "y"].map((letter) =>
        post(served, {
          declaration: envelope(
            Array.from({ length: 5 }, (_, index) => ({
              ...write(`w${index}`),
              input: { path: "shared.txt", content: text(letter) },
            })),
          ),
        }),
      ),
    );
    for (const { run_id } of both) expect((await over(served, run_id)).status).toBe("completed");
    expect([text("x"), text("y")]).toContain(await readFile(join(home().workspace, "shared.txt"), "utf8"));
  });

  test("takes a thousand actions", { timeout: 120_000 }, async () => {
    const served = await serveAgents(home());
    await writeFile(join(home().workspace, "many.txt"), "many");
    const actions = Array.from({ length: 1_000 }, (_, index) => ({
      id: `r${index}`,
      executor: { type: "tool", target: "read_file" },
      input: { path: "many.txt" },
      ...(index >= 10 && { depends_on: [`r${index - 10}`] }),
    }));
    const started = await post(served, { declaration: envelope(actions) });
    await expect
      .poll(async () => (await graphOf(served, started.run_id)).ended_at, { timeout: 100_000, interval: 500 })
      .toBeDefined();
    const run = await graphOf(served, started.run_id);
    expect([run.status, run.progress.ended]).toEqual(["completed", 1_000]);
  });
});
