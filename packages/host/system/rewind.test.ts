import { chmod, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { membersOf } from "@reins/acp";
import { call, type ModelStep, reply, ScriptedModel, say } from "@reins/scripted-model";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { stdioServer } from "../../mcp/system/fixtures/home.ts";
import type { RewindOutcome, RewindRequest } from "../src/rewind/rewind.ts";
import { stubEntry, TestClient } from "./fixtures/hub.ts";
import { type NativeTest, openNative } from "./fixtures/native.ts";

const FREE = `
tool_rules:
  - { name: all, condition: {}, verdict: allowed }
`;

/** A tool and its arguments. */
type Given = readonly [tool: string, given: Record<string, unknown>];

/** A native agent whose model plays the steps that a prompt comes with. */
async function openRewinding(more: NativeTest = {}) {
  const steps: ModelStep[] = [];
  const model = await ScriptedModel.listen({ script: () => steps.shift() ?? reply(say("Done.")) });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const environment = { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key };
  const agent = await openNative({ rules: FREE, environment, ...more });
  const { harness, hosting, client, id: session } = agent;
  const principal = harness.identity.local();
  const caller = { principal, signal: new AbortController().signal };
  const turnIn = async (id: string, prompt: string, ...calls: readonly Given[]) => {
    steps.splice(0, steps.length, ...calls.map(([tool, given]) => reply(call(tool, given))));
    expect(await client.prompt(id, prompt)).toMatchObject({ stopReason: "end_turn" });
  };
  return {
    ...agent,
    model,
    caller,
    /** Has the agent call tools in a turn, one after the other. */
    turn: (prompt: string, ...calls: readonly Given[]) => turnIn(session, prompt, ...calls),
    turnIn,
    turns: async (id = session) => (await hosting.rewinds.turns(caller, id)).turns,
    rewind: (turn: string, given: Partial<RewindRequest> = {}, by = caller): Promise<RewindOutcome> =>
      hosting.rewinds.rewind(by, {
        ...{ session, turn, files: true, conversation: undefined, dryRun: false, force: false },
        ...given,
      }),
  };
}

/** All that is below a folder: the content or the target of each entry, with its permissions. */
async function treeOf(folder: string, at = ""): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(join(folder, at), { withFileTypes: true })) {
    const path = join(at, entry.name);
    if (entry.isSymbolicLink()) tree[path] = `-> ${await readlink(join(folder, path))}`;
    else {
      const mode = ((await stat(join(folder, path))).mode & 0o777).toString(8);
      if (entry.isDirectory()) Object.assign(tree, { [`${path}/`]: mode }, await treeOf(folder, path));
      else tree[path] = `${mode} ${await readFile(join(folder, path), "utf8")}`;
    }
  }
  return tree;
}

const stateOf = ({ files }: RewindOutcome) =>
  Object.fromEntries(files.map(({ path, state }) => [path.split("/workspace/")[1], state]));

describe("a session of the native agent", () => {
  test("goes back to before each of its turns, with its files and what the model sees", async () => {
    const agent = await openRewinding();
    const { workspace } = agent;
    await writeFile(join(workspace, "kept.txt"), "as it was\n");
    await writeFile(join(workspace, "run.sh"), "echo one\n");
    await chmod(join(workspace, "run.sh"), 0o751);
    await mkdir(join(workspace, "old/inner"), { recursive: true });
    await writeFile(join(workspace, "old/inner/a.txt"), "a");
    await symlink("inner/a.txt", join(workspace, "old/link"));
    const trees = [await treeOf(workspace)];
    await agent.turn(
      "first: make and change",
      ["write_file", { path: "new/deep/b.txt", content: "b" }],
      ["edit_file", { path: "run.sh", old_text: "one", new_text: "two" }],
      ["write_file", { path: "new/deep/b.txt", content: "b again" }],
    );
    trees.push(await treeOf(workspace));
    await agent.turn("second: remove", ["delete_file", { path: "old" }], ["delete_file", { path: "run.sh" }]);
    trees.push(await treeOf(workspace));
    await agent.turn("third: replace", ["write_file", { path: "old", content: "a file by now" }]);
    const turns = await agent.turns();
    expect(turns.map(({ prompt, files, inEffect }) => [prompt, files, inEffect])).toEqual([
      ["first: make and change", 4, true],
      ["second: remove", 5, true],
      ["third: replace", 1, true],
    ]);
    for (const index of [2, 1, 0]) {
      const report = await agent.rewind(turns[index]?.id ?? "");
      expect(report).toMatchObject({ done: true, conversation: { state: "rewound" } });
      expect(await treeOf(workspace)).toEqual(trees[index]);
    }
    await agent.turn("fourth");
    const { conversation } = agent.model.requests.at(-1) ?? {};
    expect(JSON.stringify(conversation)).not.toMatch(/first: make|second: remove|third: replace/);
    expect(agent.client.said.join("\n")).toContain("Went back to before");
    expect((await agent.turns()).map(({ kind, inEffect }) => [kind, inEffect])).toEqual([
      ...[0, 1, 2].map(() => ["turn", false]),
      ...[0, 1, 2].map(() => ["rewind", true]),
      ["turn", true],
    ]);
  });

  test("takes a rewind back, and goes to before a turn that is not in effect any more", async () => {
    const agent = await openRewinding();
    const { workspace } = agent;
    await agent.turn("one", ["write_file", { path: "a.txt", content: "1" }]);
    await agent.turn("two", ["write_file", { path: "a.txt", content: "2" }]);
    const after = await treeOf(workspace);
    const [one, two] = await agent.turns();
    const { rewind = "" } = await agent.rewind(one?.id ?? "");
    expect(await treeOf(workspace)).toEqual({});
    await agent.rewind(rewind);
    expect(await treeOf(workspace)).toEqual(after);
    await agent.turn("three");
    expect(JSON.stringify(agent.model.requests.at(-1)?.conversation)).toMatch(/one.*two.*three/s);
    await agent.rewind(two?.id ?? "");
    expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("1");
    await agent.turn("four");
    const seen = JSON.stringify(agent.model.requests.at(-1)?.conversation);
    expect(seen).toContain("one");
    expect(seen).not.toMatch(/"two"|three/);
  });

  test("has its files as before any turn, whatever the turns did", { timeout: 60_000 }, async () => {
    const agent = await openRewinding();
    const { workspace } = agent;
    const path = fc.constantFrom("a", "b", "d/a", "d/e/a", "d/e/b", "f/a");
    const edit = fc.oneof(
      fc.record({ path, content: fc.constantFrom("", "x", "y", "z\n") }),
      fc.record({ path: fc.oneof(path, fc.constantFrom("d", "d/e", "f")) }),
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(edit, { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
        async (turns) => {
          run += 1;
          const trees: Record<string, string>[] = [];
          for (const [index, edits] of turns.entries()) {
            trees.push(await treeOf(workspace));
            const calls = edits.map((one) => ["content" in one ? "write_file" : "delete_file", one] as const);
            await agent.turn(`run ${run}, turn ${index}`, ...calls);
          }
          const all = await agent.turns();
          const ids = turns.map(
            (_, index) => all.find(({ prompt }) => prompt === `run ${run}, turn ${index}`)?.id,
          );
          for (const index of [...turns.keys()].reverse()) {
            const report = await agent.rewind(ids[index] ?? "", { conversation: false });
            expect([report.done, await treeOf(workspace)]).toEqual([true, trees[index]]);
          }
          // And once more from its end.
          const [first] = (await agent.turns()).filter(({ before }) => before === ids[turns.length - 1]);
          expect(await agent.rewind(first?.id ?? "", { conversation: false })).toMatchObject({ done: true });
          expect(await agent.rewind(ids[0] ?? "", { conversation: false })).toMatchObject({ done: true });
          expect(await treeOf(workspace)).toEqual(trees[0]);
        },
      ),
      { numRuns: 12, seed: 7 },
    );
  });

  test("has the files restored that its sub-agents changed by Reins, whichever they are", async () => {
    const agent = await openRewinding({ agents: [stubEntry("stub")] });
    const { workspace } = agent;
    await writeFile(join(workspace, "a.txt"), "as it was");
    const before = await treeOf(workspace);
    const put = JSON.stringify({ path: join(workspace, "c.txt"), content: "of another agent" });
    await agent.turn(
      "delegate",
      ["spawn_subagent", { prompt: "the child" }],
      ["write_file", { path: "b.txt", content: "of the child" }],
      ["spawn_subagent", { prompt: "the grandchild" }],
      ["edit_file", { path: "a.txt", old_text: "was", new_text: "is" }],
    );
    await agent.turn("delegate to another", ["spawn_subagent", { prompt: `put ${put}`, agent: "stub" }]);
    expect(Object.keys(await treeOf(workspace))).toEqual(["a.txt", "b.txt", "c.txt"]);
    const turns = await agent.turns();
    expect(turns.map(({ prompt, files }) => [prompt, files])).toEqual([
      ["delegate", 2],
      ["delegate to another", 1],
    ]);
    expect(await agent.rewind(turns[0]?.id ?? "")).toMatchObject({ done: true });
    expect(await treeOf(workspace)).toEqual(before);
  });

  test("shows what it would do, and does nothing", async () => {
    const agent = await openRewinding();
    await agent.turn("one", ["write_file", { path: "a.txt", content: "1" }]);
    await agent.turn("run", ["run_command", { command: "echo from a command > made.txt" }]);
    const before = await treeOf(agent.workspace);
    const [one] = await agent.turns();
    const report = await agent.rewind(one?.id ?? "", { dryRun: true });
    expect(report).toMatchObject({ done: false, conversation: { state: "pending" } });
    expect(report.rewind).toBeUndefined();
    expect(stateOf(report)).toEqual({ "a.txt": "pending" });
    const made = join(agent.workspace, "made.txt");
    expect(report).toMatchObject({
      isCut: false,
      effects: [{ tool: "run_command", runs: ["echo from a command"], writes: [made], outcome: "completed" }],
    });
    expect(await treeOf(agent.workspace)).toEqual(before);
    expect(await agent.turns()).toHaveLength(2);
  });

  test("names what it does not undo, by the ledger: also of sub-agents, and what failed", async () => {
    const agent = await openRewinding();
    await agent.turn("before", ["run_command", { command: "touch before.txt" }]);
    await agent.turn(
      "work",
      ["read_file", { path: "before.txt" }],
      ["write_file", { path: "a.txt", content: "1" }],
      ["run_command", { command: "mkdir before.txt/x" }],
      ["spawn_subagent", { prompt: "the child" }],
      ["write_file", { path: "b.txt", content: "of the child" }],
      ["run_command", { command: "touch made.txt && unknown-tool --now" }],
    );
    await agent.turn("more", ["post_board", { content: "hello" }]);
    const turns = await agent.turns();
    const { effects } = await agent.rewind(turns[1]?.id ?? "", { dryRun: true });
    expect(effects.map(({ tool, runs, session }) => [tool, runs.join(" + "), session !== undefined])).toEqual(
      [
        ["run_command", "mkdir before.txt/x", false],
        ["post_board", "", false],
        ["run_command", "touch made.txt + unknown-tool --now", true],
      ],
    );
    expect((await agent.rewind(turns[2]?.id ?? "", { dryRun: true })).effects).toHaveLength(1);
  });

  test("names calls of MCP servers among what it does not undo", async () => {
    const agent = await openRewinding();
    const { client, workspace: cwd } = agent;
    const tools = [{ name: "polite", description: "d", inputSchema: { type: "object" } }];
    const mcpServers = [stdioServer("hostile.ts", [join(cwd, "../mcp.log"), JSON.stringify([[tools]])])];
    const { sessionId } = await client.request("session/new", { cwd, mcpServers });
    const session = String(sessionId);
    await agent.turnIn(session, "send it", ["mcp__lab__polite", {}]);
    const [turn] = await agent.turns(session);
    const { effects } = await agent.rewind(turn?.id ?? "", { session, dryRun: true });
    expect(effects).toMatchObject([{ tool: expect.stringContaining("polite"), isUngated: false }]);
  });

  test("restores nothing while a file is not as Reins left it, unless that is forced", async () => {
    const agent = await openRewinding();
    const { workspace } = agent;
    await writeFile(join(workspace, "a.txt"), "0");
    await agent.turn(
      "one",
      ["write_file", { path: "a.txt", content: "1" }],
      ["write_file", { path: "b.txt", content: "1" }],
    );
    await writeFile(join(workspace, "a.txt"), "a person was here");
    const [one] = await agent.turns();
    const refused = await agent.rewind(one?.id ?? "");
    expect(refused).toMatchObject({ done: false, conversation: { state: "pending" } });
    expect(stateOf(refused)).toEqual({ "a.txt": "conflict", "b.txt": "pending" });
    expect(await treeOf(workspace)).toMatchObject({ "b.txt": expect.stringMatching(/ 1$/) });
    const forced = await agent.rewind(one?.id ?? "", { force: true });
    expect(forced.done).toBe(true);
    expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("0");
    // What the person wrote comes back.
    await agent.rewind(forced.rewind ?? "");
    expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("a person was here");
  });

  test("does not lose what another wrote between two turns", async () => {
    const agent = await openRewinding();
    const file = join(agent.workspace, "a.txt");
    await agent.turn("one", ["write_file", { path: "a.txt", content: "1" }]);
    await writeFile(file, "a person was here");
    await agent.turn("two", ["write_file", { path: "a.txt", content: "2" }]);
    const [one, two] = await agent.turns();
    expect(stateOf(await agent.rewind(one?.id ?? "", { dryRun: true }))).toEqual({ "a.txt": "conflict" });
    expect((await agent.rewind(two?.id ?? "")).done).toBe(true);
    expect(await readFile(file, "utf8")).toBe("a person was here");
  });

  test("writes through no link that took the place of a folder or of a file", async () => {
    const agent = await openRewinding();
    const { workspace } = agent;
    const outside = join(dirname(workspace), "outside");
    await mkdir(outside);
    await writeFile(join(outside, "a.txt"), "secret");
    await agent.turn(
      "one",
      ["write_file", { path: "d/a.txt", content: "1" }],
      ["write_file", { path: "b.txt", content: "1" }],
    );
    await agent.turn("two", ["delete_file", { path: "d/a.txt" }], ["delete_file", { path: "b.txt" }]);
    await rm(join(workspace, "d"), { recursive: true });
    await symlink(outside, join(workspace, "d"));
    await symlink(join(outside, "b.txt"), join(workspace, "b.txt"));
    const [one, two] = await agent.turns();
    for (const turn of [one?.id ?? "", two?.id ?? ""])
      for (const force of [false, true]) {
        const done = await agent.rewind(turn, { force }).then(
          (report) => report.done,
          () => false,
        );
        expect(done).toBe(false);
      }
    expect(await readdir(outside)).toEqual(["a.txt"]);
    expect(await readFile(join(outside, "a.txt"), "utf8")).toBe("secret");
  });

  test("says that a file was too large to be kept, and restores the others when that is forced", async () => {
    const agent = await openRewinding();
    const { workspace } = agent;
    await writeFile(join(workspace, "big.txt"), "x".repeat(17 * 1024 * 1024));
    await agent.turn(
      "one",
      ["write_file", { path: "big.txt", content: "small" }],
      ["write_file", { path: "b.txt", content: "1" }],
    );
    const [one] = await agent.turns();
    const report = await agent.rewind(one?.id ?? "");
    expect(report.files.find(({ path }) => path.endsWith("big.txt"))).toMatchObject({
      state: "lost",
      reason: "what was there was too large to be kept",
    });
    const forced = await agent.rewind(one?.id ?? "", { force: true });
    expect([forced.done, stateOf(forced)]).toEqual([false, { "big.txt": "lost", "b.txt": "restored" }]);
    expect(await treeOf(workspace)).toEqual({ "big.txt": expect.stringMatching(/ small$/) });
  });

  test("is refused as a whole where the policy forbids one of the files", async () => {
    const agent = await openRewinding({
      rules: `
tool_rules:
  - name: not_by_callers
    condition: { origin: client, tool_name_matches: ["fs/*"], paths: { any: { match: "**/b.txt" } } }
    verdict: blocked
    reason: b stays
  - { name: all, condition: {}, verdict: allowed }
`,
    });
    await agent.turn(
      "one",
      ["write_file", { path: "a.txt", content: "1" }],
      ["write_file", { path: "b.txt", content: "1" }],
    );
    const before = await treeOf(agent.workspace);
    const [one] = await agent.turns();
    await expect(agent.rewind(one?.id ?? "")).rejects.toThrow("b stays");
    expect(await treeOf(agent.workspace)).toEqual(before);
    const verdicts = (await agent.entries("policy_verdict")).map(({ target, payload }) => [
      target,
      membersOf(payload).verdict,
    ]);
    expect(verdicts).toContainEqual(["session/rewind", "allowed"]);
    expect(verdicts).toContainEqual(["fs/delete_entry", "blocked"]);
  });

  test("records each file that it restores, under a verdict of its own", async () => {
    const agent = await openRewinding();
    await writeFile(join(agent.workspace, "a.txt"), "0");
    await agent.turn(
      "one",
      ["write_file", { path: "a.txt", content: "1" }],
      ["write_file", { path: "b.txt", content: "1" }],
    );
    const [one] = await agent.turns();
    await agent.rewind(one?.id ?? "");
    const results = (await agent.entries("tool_result")).map(({ payload }) => membersOf(payload));
    expect(results.slice(-3)).toMatchObject([
      { tool: "fs/delete_entry", outcome: "completed" },
      { tool: "fs/write_file", outcome: "completed", written: [{ path: join(agent.workspace, "a.txt") }] },
      { tool: "session/rewind", outcome: "completed" },
    ]);
  });

  test("keeps what it replaces, or replaces nothing", async () => {
    const agent = await openRewinding();
    const file = join(agent.workspace, "a.txt");
    await agent.turn("one", ["write_file", { path: "a.txt", content: "1" }]);
    const theirs = "p".repeat(17 * 1024 * 1024);
    await writeFile(file, theirs);
    const [one] = await agent.turns();
    await expect(agent.rewind(one?.id ?? "", { force: true })).rejects.toThrow(
      /nothing was changed.*too large/,
    );
    expect((await readFile(file, "utf8")) === theirs).toBe(true);
  });

  test("has its files as before the actions of graphs that it declares, and of sub-agents in them", async () => {
    const agent = await openRewinding();
    const { client, id: sessionId, workspace } = agent;
    await client.request("session/set_mode", { sessionId, modeId: "protocol" });
    const put = (path: string) => ({ type: "tool", name: "write_file", args: { path, content: path } });
    await writeFile(join(workspace, "a.txt"), "as it was");
    const before = await treeOf(workspace);
    await agent.turn("one", ["AgentProtocolOutput", { kind: "act", calls: [{ id: "a", ...put("a.txt") }] }]);
    await expect.poll(() => readFile(join(workspace, "a.txt"), "utf8")).toBe("a.txt");
    const between = await treeOf(workspace);
    const command = {
      id: "c",
      type: "tool",
      name: "run_command",
      args: { command: "echo by a command > c.txt" },
    };
    await agent.turn("two", [
      "AgentProtocolOutput",
      { kind: "act", calls: [{ id: "b", ...put("d/b.txt") }, command] },
    ]);
    const timeline = await agent.hosting.rewinds.turns(agent.caller, sessionId);
    expect(timeline.conversation).toBe(false);
    expect(timeline.turns.map(({ prompt, files }) => [prompt, files])).toEqual([
      ["one", 1],
      ["two", 2],
    ]);
    const child = { id: "s", type: "agent", name: "native", prompt: "the child" };
    await agent.turn(
      "three",
      ["AgentProtocolOutput", { kind: "act", calls: [child] }],
      ["write_file", { path: "a.txt", content: "of the child" }],
    );
    expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("of the child");
    const [one, two] = timeline.turns;
    await expect(agent.rewind(two?.id ?? "", { conversation: true })).rejects.toThrow(
      "declares action graphs",
    );
    const report = await agent.rewind(two?.id ?? "");
    expect(report).toMatchObject({
      done: true,
      conversation: { state: "kept", reason: expect.stringContaining("declares action graphs") },
      effects: [{ tool: "run_command", runs: ["echo by a command"], writes: [join(workspace, "c.txt")] }],
    });
    await rm(join(workspace, "c.txt"));
    expect(await treeOf(workspace)).toEqual(between);
    expect((await agent.rewind(one?.id ?? "")).done).toBe(true);
    expect(await treeOf(workspace)).toEqual(before);
  });

  test("goes back once of many at the same time, and not while a turn runs", async () => {
    const agent = await openRewinding();
    await agent.turn("one", ["write_file", { path: "a.txt", content: "1" }]);
    const [one] = await agent.turns();
    const settled = await Promise.allSettled([0, 1, 2, 3].map(() => agent.rewind(one?.id ?? "")));
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const running = agent.turn("two", ["run_command", { command: "sleep 0.5" }]);
    await expect.poll(() => agent.hosting.hub.live(agent.id)?.phase).toBe("running");
    await expect(agent.rewind(one?.id ?? "")).rejects.toThrow("a turn is under way");
    await running;
  });

  test("is not for others, and has nothing left when it has ended", async () => {
    const agent = await openRewinding();
    await agent.turn("one", ["write_file", { path: "a.txt", content: "1" }]);
    const [one] = await agent.turns();
    const { identity } = agent.harness;
    await identity.addUser({
      id: "eve",
      name: "Eve",
      email: "e@example.com",
      tenant: "other",
      roles: ["admin"],
      scopes: ["*"],
    });
    const { secret } = await identity.createToken({ user: "eve", tenant: "other", agents: ["*"] });
    const principal = await identity.authenticate(secret);
    if (!principal) throw new Error("the token is not known");
    await expect(agent.rewind(one?.id ?? "", {}, { ...agent.caller, principal })).rejects.toThrow(
      "there is no session",
    );
    const kept = join(agent.home, "snapshots", "default", agent.id);
    expect((await stat(kept)).mode & 0o777).toBe(0o700);
    await agent.client.request("session/close", { sessionId: agent.id });
    expect((await agent.rewind(one?.id ?? "", { dryRun: true })).files).toHaveLength(1);
    await agent.client.request("session/delete", { sessionId: agent.id });
    await expect.poll(() => stat(kept).catch(() => undefined)).toBeUndefined();
    await expect(agent.rewind(one?.id ?? "")).rejects.toThrow("has ended");
  });
});

describe("a session of another agent", () => {
  test("has the files restored that Reins wrote for it, and keeps its conversation", async () => {
    const agent = await openRewinding({ agents: [stubEntry("stub")] });
    const { workspace, hosting, harness } = agent;
    const client = new TestClient();
    client.connection = await hosting.hub.connect({
      principal: harness.identity.local(),
      agent: "stub",
      outlet: { send: (message, order) => void client.got.push({ message, order }), failed: () => undefined },
    });
    const { sessionId } = await client.request("session/new", { cwd: workspace, mcpServers: [] });
    const session = String(sessionId);
    const put = (name: string, content: string) =>
      `put ${JSON.stringify({ path: join(workspace, name), content })}`;
    await writeFile(join(workspace, "a.txt"), "0");
    await client.prompt(session, put("a.txt", "1"), put("b.txt", "1"));
    await client.prompt(session, put("a.txt", "2"));
    const turns = await agent.turns(session);
    expect(turns.map(({ files, inEffect }) => [files, inEffect])).toEqual([
      [2, undefined],
      [1, undefined],
    ]);
    const [first, second] = turns;
    await agent.rewind(second?.id ?? "", { session });
    expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("1");
    const report = await agent.rewind(first?.id ?? "", { session });
    expect(report).toMatchObject({
      done: true,
      conversation: { state: "kept", reason: expect.stringContaining("agent") },
    });
    expect(await treeOf(workspace)).toEqual({ "a.txt": expect.stringMatching(/ 0$/) });
    await expect(agent.rewind(first?.id ?? "", { session, conversation: true })).rejects.toThrow(
      "cannot go back",
    );
  });
});
