import { existsSync, readFileSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import { call, reply, type Scene, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { openNative } from "./fixtures/native.ts";

const RULES = `
tool_rules:
  - { name: secrets, condition: { tool_name_matches: [write_file], arguments: { path: secret.txt } }, verdict: blocked }
  - { name: notes, condition: { tool_name_matches: [write_file], arguments: { path: notes.txt } }, verdict: allowed }
  - { name: hurry, condition: { tool_name_matches: [write_file], arguments: { path: hurry.txt } }, verdict: ask, expires: 1s }
  - { name: writes, condition: { tool_name_matches: [write_file] }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }
`;

/** A session whose model writes a.txt, with a host that answers the permission request as given. */
async function asked(
  answer: (params: JsonObject) => unknown,
  meta: JsonObject = {},
  ...others: readonly Scene[]
) {
  const model = await ScriptedModel.listen({
    script: scenes(
      scene("go", reply(call("write_file", { path: "a.txt", content: "one" })), reply(say("Done."))),
      ...others,
    ),
  });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const requests: JsonObject[] = [];
  const lent: JsonObject[] = [];
  const agent = await openNative({
    rules: RULES,
    environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    host: (method, params) => {
      if (method === "host/tools/list") return [{ name: "send_mail" }];
      if (method === "builtin_call") lent.push(params);
      if (method !== "session/request_permission") return null;
      requests.push(params);
      return answer(params);
    },
  });
  const begun = await agent.client.request("session/new", {
    cwd: agent.workspace,
    mcpServers: [],
    _meta: { reins: meta },
  });
  const id = String(begun.sessionId);
  await agent.client.prompt(id, "go");
  const file = (name: string) => {
    const path = join(agent.workspace, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  };
  const results = agent.client.updates.flatMap(({ rawOutput }) => String(membersOf(rawOutput).text ?? ""));
  return { ...agent, id, requests, lent, file, results: results.join("\n") };
}

const OTHER = { path: "b.txt", content: "two" };

describe("a permission request to a host", () => {
  test("has ACP's options and the fields of the bridge, of one approval", async () => {
    const { requests, id, workspace, harness } = await asked(() => ({ granted: true }));
    const [request = expect.fail()] = requests;
    const path = join(workspace, "a.txt");
    expect(request).toMatchObject({
      sessionId: id,
      toolCall: { toolName: "write_file", rawInput: { path: "a.txt", content: "one" } },
      mutation: {
        session_id: id,
        run_id: expect.any(String),
        worker_id: null,
        mutation_scope: "apply_workspace",
        approval_policy: { require_approval: ["write_file"] },
      },
      declaredPaths: [path],
      approvalRequest: {
        action: "write_file",
        args: { path: "a.txt", content: "one" },
        approvers_required: 1,
        evidence_refs: [{ kind: "workspace_path", ref: path, metadata: { effects: ["write"] } }],
        capabilities_requested: ["tool.write_file"],
      },
    });
    expect(request.options).toMatchObject([
      { kind: "allow_once" },
      { kind: "allow_always" },
      { kind: "reject_once" },
    ]);
    const { id: approval, deadline } = membersOf(request.approvalRequest);
    const kept = await harness.approvals.get(String(approval), "default");
    expect(kept).toMatchObject({ state: "used", expires_at: deadline });
  });

  test.each([
    ["selected without an option", { outcome: { outcome: "selected" } }, "one"],
    ["granted", { granted: true }, "one"],
    ["not granted", { granted: false, reason: "not on a Friday" }, undefined],
    ["a rejecting option", { outcome: { outcome: "selected", optionId: "reject_once" } }, undefined],
    ["a contradiction", { granted: true, outcome: { outcome: "cancelled" } }, undefined],
    ["no known form", { approved: true }, undefined],
  ])("is answered by %s", async (_, answer, content) => {
    const { file } = await asked(() => answer);
    expect(file("a.txt")).toBe(content);
  });

  test("shows the model the reason of a denial", async () => {
    const { harness } = await asked(() => ({ granted: false, reason: "not on a Friday" }));
    const [approval] = await harness.approvals.list({ tenant: "default", limit: 1 });
    expect(approval?.answers).toMatchObject([{ decision: "deny", note: "not on a Friday" }]);
  });

  test("is denied when the host fails", async () => {
    const { file, results } = await asked(() => {
      throw new Error("broken");
    });
    expect(file("a.txt")).toBe(undefined);
    expect(results).toContain("Not allowed");
  });
});

describe("a permission request that the host does not answer", () => {
  const writes = (word: string, path: string) =>
    scene(word, reply(call("write_file", { path, content: "one" })), reply(say("Done.")));
  /** Answers the first request, and no other. */
  const once = () => {
    let isFirst = true;
    return () => {
      const [answer] = isFirst ? [{ granted: false }] : [new Promise(() => undefined)];
      isFirst = false;
      return answer;
    };
  };

  test("is withdrawn with its turn, at the host and as an approval", async () => {
    const agent = await asked(once(), {}, writes("again", "b.txt"));
    const turn = agent.client.prompt(agent.id, "again");
    await expect.poll(() => agent.requests.length).toBe(2);
    const { id: approval } = membersOf(agent.requests[1]?.approvalRequest);
    await agent.client.connection.notification("session/cancel", { sessionId: agent.id });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    const requestId = agent.client.asked.at(-1)?.id;
    await expect
      .poll(() => agent.client.got.map(({ message: { method, params } }) => [method, params]))
      .toContainEqual(["$/cancel_request", { requestId }]);
    await expect
      .poll(() => agent.harness.approvals.get(String(approval), "default"))
      .toMatchObject({ state: "withdrawn" });
    expect(agent.file("b.txt")).toBe(undefined);
  });

  test("is denied at its deadline, and the turn goes on", async () => {
    const agent = await asked(once(), {}, writes("hurry", "hurry.txt"));
    expect(await agent.client.prompt(agent.id, "hurry")).toMatchObject({ stopReason: "end_turn" });
    expect(agent.requests).toHaveLength(2);
    const { id, deadline } = membersOf(agent.requests[1]?.approvalRequest);
    expect(await agent.harness.approvals.get(String(id), "default")).toMatchObject({
      ...{ state: "expired", expires_at: deadline },
    });
    expect(agent.file("hurry.txt")).toBe(undefined);
  });
});

test("an answer for always is a grant: the same call is not asked about again", async () => {
  const agent = await asked(({ options }) => {
    const always = (options as JsonObject[]).find(({ kind }) => kind === "allow_always");
    return { outcome: { outcome: "selected", optionId: always?.optionId } };
  });
  // Making a file and replacing it are two actions, each granted for itself.
  for (let turn = 0; turn < 3; turn += 1) await agent.client.prompt(agent.id, "go");
  expect(agent.requests).toHaveLength(2);
  const written = (await agent.entries("tool_result")).filter(({ target }) => target === "write_file");
  expect(written).toHaveLength(4);
});

describe("rewritten arguments", () => {
  test("that a rule asks about count by the same answer, which the approval and the record show", async () => {
    const { file, requests, harness, entries } = await asked(() => ({ granted: true, args: OTHER }));
    expect([file("a.txt"), file("b.txt")]).toEqual([undefined, "two"]);
    expect(requests).toHaveLength(1);
    const approvals = await harness.approvals.list({ tenant: "default", limit: 10 });
    expect(approvals.map(({ state, facts }) => [state, membersOf(facts.arguments).path])).toEqual([
      ["withdrawn", "a.txt"],
      ["used", "b.txt"],
    ]);
    const allowed = (await entries("policy_verdict")).filter(
      ({ target, payload }) => target === "write_file" && membersOf(payload).verdict === "allowed",
    );
    expect(allowed).toHaveLength(1);
    expect(JSON.stringify(allowed)).toContain("b.txt");
    expect(JSON.stringify(allowed)).not.toContain("a.txt");
    const began = (await entries("tool_call")).filter(({ target }) => target === "write_file");
    expect(JSON.stringify(began)).toContain("b.txt");
  });

  test("beside a granting outcome count, too", async () => {
    const { file } = await asked(() => ({ outcome: { outcome: "selected" }, args: OTHER }));
    expect([file("a.txt"), file("b.txt")]).toEqual([undefined, "two"]);
  });

  test("that a rule allows pass", async () => {
    const { file } = await asked(() => ({ granted: true, args: { ...OTHER, path: "notes.txt" } }));
    expect([file("a.txt"), file("notes.txt")]).toEqual([undefined, "two"]);
  });

  test("that a rule blocks stay blocked", async () => {
    const { file, results } = await asked(() => ({ granted: true, args: { ...OTHER, path: "secret.txt" } }));
    expect([file("a.txt"), file("secret.txt")]).toEqual([undefined, undefined]);
    expect(results).toContain("Not allowed");
  });

  test("outside of the workspace stay blocked or outside of what the tool takes", async () => {
    const { file, results } = await asked(() => ({ granted: true, args: { path: 7 } }));
    expect(file("a.txt")).toBe(undefined);
    expect(results).toMatch(/Not allowed|It failed/);
  });

  test("that are no object deny", async () => {
    const { file } = await asked(() => ({ granted: true, args: ["b.txt"] }));
    expect([file("a.txt"), file("b.txt")]).toEqual([undefined, undefined]);
  });
});

describe("a list of paths that may be written, with **", () => {
  const ALLOWLIST = `
tool_rules:
  - { name: sources, condition: { tool_name_matches: [write_file], writes: { every: { match: "src/**", except: ["src/vendor/**"] } } }, verdict: allowed }
  - { name: writes, condition: { effects: { any: [write] } }, verdict: blocked, reason: only src is written }
  - { name: rest, condition: {}, verdict: allowed }
`;
  const PATHS: readonly (readonly [string, boolean])[] = [
    ["src/a.txt", true],
    ["src/deep/deeper/b.txt", true],
    ["./src/./c.txt", true],
    ["a.txt", false],
    ["srcx/a.txt", false],
    ["other/src/a.txt", false],
    ["src/../a.txt", false],
    ["src/vendor/a.txt", false],
    ["src/link/a.txt", false],
    ["../src/a.txt", false],
  ];

  test("allows writes at any depth below it, and no others, whatever they are called", async () => {
    const model = await ScriptedModel.listen({
      script: scenes(
        scene(
          "go",
          ...PATHS.map(([path]) => reply(call("write_file", { path, content: path }))),
          reply(say("Done.")),
        ),
      ),
    });
    onTestFinished(() => model.close());
    const { url, key } = model.endpoint;
    const agent = await openNative({
      rules: ALLOWLIST,
      environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    });
    await mkdir(join(agent.workspace, "src/vendor"), { recursive: true });
    await mkdir(join(agent.workspace, "elsewhere"));
    await symlink("../elsewhere", join(agent.workspace, "src/link"));
    await agent.client.prompt(agent.id, "go");
    const written = PATHS.map(([path]) => [path, existsSync(join(agent.workspace, path))]);
    expect(written).toEqual(PATHS);
  });
});

describe("the mutation scope of a session", () => {
  test.each(["read_only", "none", "something_else", 7])("blocks writes: %s", async (mutation_scope) => {
    const { file, requests, results } = await asked(() => ({ granted: true }), { mutation_scope });
    expect(file("a.txt")).toBe(undefined);
    expect(requests).toEqual([]);
    expect(results).toContain("mutation scope");
  });

  test.each([
    ["a request that sends", "run_command", { command: "curl -X POST -d x=1 http://127.0.0.1:9/" }],
    ["a request that gets", "run_command", { command: "curl https://example.org/delete?id=1" }],
    ["a push", "run_command", { command: "git push origin main" }],
    ["a tool of the host", "send_mail", { to: "ann" }],
  ])("blocks what may change something elsewhere: %s", async (_, tool, given) => {
    const sends = scene("send", reply(call(tool, given)), reply(say("Done.")));
    const readOnly = { mutation_scope: "read_only" };
    const { client, id, requests, lent, entries } = await asked(() => ({ granted: true }), readOnly, sends);
    await client.prompt(id, "send");
    const ofTool = (await entries("policy_verdict")).filter(({ target }) => target.endsWith(tool));
    const decided = ofTool.map(({ payload }) => membersOf(payload));
    expect(decided).toHaveLength(1);
    expect(decided[0]).toMatchObject({
      verdict: "blocked",
      reason: expect.stringContaining("read_only"),
    });
    expect([requests, lent]).toEqual([[], []]);
  });

  test.each(["apply_workspace", "apply_worktree"])(
    "allows writes in the folder: %s",
    async (mutation_scope) => {
      const { file, requests } = await asked(() => ({ granted: true }), { mutation_scope });
      expect(file("a.txt")).toBe("one");
      expect(requests[0]).toMatchObject({ mutation: { mutation_scope } });
    },
  );

  test("is not widened when the session is loaded", async () => {
    const { client, id, workspace, file, requests } = await asked(() => ({ granted: true }), {
      mutation_scope: "read_only",
    });
    const wider = { reins: { mutation_scope: "apply_workspace" } };
    await client.request("session/load", { sessionId: id, cwd: workspace, mcpServers: [], _meta: wider });
    await client.prompt(id, "go");
    expect([file("a.txt"), requests]).toEqual([undefined, []]);
  });

  test("is narrowed where a client of the open session says so", async () => {
    const { client, id, workspace, file } = await asked(() => ({ granted: false }));
    const narrower = { reins: { mutation_scope: "read_only" } };
    await client.request("session/load", { sessionId: id, cwd: workspace, mcpServers: [], _meta: narrower });
    await client.prompt(id, "go");
    const outputs = client.updates.map(({ rawOutput }) => String(membersOf(rawOutput).text ?? ""));
    expect(outputs.join("\n")).toContain("the mutation scope of the session is read_only");
    expect(file("a.txt")).toBe(undefined);
  });

  test("holds for what the session delegates", async () => {
    const spawns = reply(call("spawn_subagent", { prompt: "go, and write" }));
    const delegate = scene("delegate", spawns, reply(say("Passed on.")));
    const { client, id, file, entries } = await asked(
      () => ({ granted: true }),
      { mutation_scope: "read_only" },
      delegate,
    );
    await client.prompt(id, "delegate");
    expect(file("a.txt")).toBe(undefined);
    const verdicts = (await entries("policy_verdict")).filter(({ target }) => target === "write_file");
    expect(verdicts.map(({ payload }) => membersOf(payload).verdict)).toEqual(["blocked", "blocked"]);
  });

  test("has a person asked about programs whose changes cannot be seen", async () => {
    const make = scene("run", reply(call("run_command", { command: "sh ./unseen.sh" })), reply(say("Done.")));
    const { client, id, requests } = await asked(
      () => ({ granted: false }),
      { mutation_scope: "apply_worktree" },
      make,
    );
    await client.prompt(id, "run");
    expect(requests.at(-1)).toMatchObject({
      toolCall: { name: "run_command" },
      options: [{ kind: "allow_once" }, { kind: "reject_once" }],
    });
    expect(JSON.stringify(requests.at(-1))).toContain("more than can be seen");
  });
});
