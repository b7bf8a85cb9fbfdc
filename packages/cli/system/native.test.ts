import { mkdirSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Editor, type Message } from "./support/editor.ts";
import { OperatedHome } from "./support/operated-home.ts";

const CAPABILITIES = { session: { notices: {}, compaction: {} } };

/** An editor in front of the native agent; through the Reins that runs, where one does. */
async function edit(home: OperatedHome): Promise<Editor> {
  const editor = new Editor(home.start("acp", "--agent", "native"));
  await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: CAPABILITIES });
  return editor;
}

/** A home in which everything is allowed. */
function openHome(): OperatedHome {
  const home = new OperatedHome();
  mkdirSync(home.path, { mode: 0o700 });
  writeFileSync(
    join(home.path, "constitution.yaml"),
    "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
  );
  return home;
}

const updatesIn = ({ got }: Editor, sessionId: string): Message[] =>
  got
    .filter(({ method }) => method === "session/update")
    .map(({ params }) => params as { sessionId: string; update: Message })
    .filter((params) => params.sessionId === sessionId)
    .map(({ update }) => update);

const textOf = (updates: readonly Message[], kind = "agent_message_chunk"): string =>
  updates
    .filter(({ sessionUpdate }) => sessionUpdate === kind)
    .map(({ content }) => (content as { text: string }).text)
    .join("");

async function isAlive(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return state !== "" && !/\) Z /.test(state);
}

describe("reins acp --agent native", () => {
  it("says what it can do, and does it, with no key", async () => {
    const home = openHome();
    await writeFile(join(home.workspace, "README.md"), "# Heather\n");
    const editor = new Editor(home.start("acp", "--agent", "native"));
    expect(await editor.ask("initialize", { protocolVersion: 1 })).toMatchObject({
      result: {
        protocolVersion: 1,
        agentCapabilities: {
          loadSession: true,
          sessionCapabilities: { list: {}, resume: {}, fork: {}, close: {} },
          promptCapabilities: { embeddedContext: true },
        },
      },
    });
    const begun = await editor.ask("session/new", { cwd: home.workspace, mcpServers: [] });
    expect(begun.result).toMatchObject({
      modes: {
        currentModeId: "default",
        availableModes: [{ id: "default" }, { id: "plan" }, { id: "protocol" }],
      },
      configOptions: [
        { id: "model", category: "model", currentValue: "demo" },
        { id: "thought_level", category: "thought_level", currentValue: "default" },
      ],
    });
    const { sessionId } = begun.result as { sessionId: string };
    const { result } = await editor.prompt(sessionId, "what is in this folder");
    expect(result).toMatchObject({ stopReason: "end_turn", usage: { totalTokens: expect.any(Number) } });
    expect(textOf(updatesIn(editor, sessionId))).toContain("README.md");
    const kinds = new Set(updatesIn(editor, sessionId).map(({ sessionUpdate }) => sessionUpdate));
    for (const kind of ["tool_call", "tool_call_update", "usage_update", "session_info_update"])
      expect(kinds).toContain(kind);

    await editor.prompt(sessionId, "please do both:\n- write a file a.txt\n- write a file b.txt");
    expect(updatesIn(editor, sessionId)).toContainEqual(
      expect.objectContaining({
        sessionUpdate: "plan",
        entries: expect.arrayContaining([expect.anything()]),
      }),
    );

    expect(await editor.ask("session/set_mode", { sessionId, modeId: "plan" })).toHaveProperty("result");
    const set = { sessionId, configId: "thought_level", value: "high" };
    expect(await editor.ask("session/set_config_option", set)).toMatchObject({
      result: { configOptions: [{ id: "model" }, { id: "thought_level", currentValue: "high" }] },
    });
    await editor.prompt(sessionId, "write a file c.txt");
    expect(textOf(updatesIn(editor, sessionId))).toContain("write_file, which I may not use here");

    expect(await editor.ask("session/list", {})).toMatchObject({ result: { sessions: [{ sessionId }] } });
    const forked = await editor.ask("session/fork", { sessionId, cwd: home.workspace, mcpServers: [] });
    const { sessionId: fork } = forked.result as { sessionId: string };
    expect(fork).not.toBe(sessionId);
    expect(await editor.prompt(fork, "what is in this folder")).toMatchObject({
      result: { stopReason: "end_turn" },
    });
    expect(await editor.ask("session/close", { sessionId: fork })).toHaveProperty("result");
    expect(await editor.prompt(fork, "hello")).toMatchObject({ result: { stopReason: "end_turn" } });
    expect(await editor.ask("session/delete", { sessionId: fork })).toHaveProperty("result");
    expect(await editor.prompt(fork, "hello")).toHaveProperty("error");
  });

  it("stops when its prompt is taken back, and takes a session up in another process", async () => {
    const home = openHome();
    const editor = await edit(home);
    const sessionId = await editor.begin(home);
    const turn = editor.prompt(sessionId, "count to 5000");
    await editor.until((message) => JSON.stringify(message).includes("agent_message_chunk"));
    editor.send({ method: "$/cancel_request", params: { requestId: 3 } });
    await turn;
    expect(await editor.prompt(sessionId, "count to 3")).toMatchObject({
      result: { stopReason: "end_turn" },
    });
    editor.end();
    await editor.ended;

    const other = await edit(home);
    const place = { sessionId, cwd: home.workspace, mcpServers: [] };
    await other.ask("session/load", place);
    expect(textOf(updatesIn(other, sessionId), "user_message_chunk")).toContain("count to 3");
    expect(textOf(updatesIn(other, sessionId))).toContain("1 2 3");
    expect(await other.prompt(sessionId, "count to 4")).toMatchObject({ result: { stopReason: "end_turn" } });
  });
});

describe("reins up, killed in the middle of a turn of the native agent", () => {
  it("comes back with the session, the turn interrupted, the ledger whole, and runs nothing twice", async () => {
    const home = openHome();
    const up = await home.up();
    const editor = await edit(home);
    const sessionId = await editor.begin(home);
    const log = join(home.workspace, "log");
    editor.prompt(sessionId, "run `echo $$ >> log; sleep 600`").catch(() => undefined);
    await expect.poll(() => readFile(log, "utf8").catch(() => "")).toMatch(/^\d+\n$/);
    const delegating = await editor.begin(home);
    const child = join(home.workspace, "child");
    editor
      .prompt(delegating, 'spawn a subagent to "run `echo $$ >> child; sleep 600`"')
      .catch(() => undefined);
    await expect.poll(() => readFile(child, "utf8").catch(() => "")).toMatch(/^\d+\n$/);
    await up.kill();
    const pid = Number(await readFile(log, "utf8"));
    const childPid = Number(await readFile(child, "utf8"));
    for (const one of [pid, childPid]) await expect.poll(() => isAlive(one)).toBe(false);

    await home.up();
    const back = await edit(home);
    expect(await back.ask("session/load", { sessionId, cwd: home.workspace, mcpServers: [] })).toHaveProperty(
      "result",
    );
    expect(textOf(updatesIn(back, sessionId))).toContain("The turn was cut off");
    expect(await readFile(log, "utf8")).toBe(`${pid}\n`);
    expect(await back.prompt(sessionId, "what is in this folder")).toMatchObject({
      result: { stopReason: "end_turn" },
    });
    expect(await readFile(log, "utf8")).toBe(`${pid}\n`);
    expect(await readFile(child, "utf8")).toBe(`${childPid}\n`);
    const { sessions } = (await back.ask("session/list", {})).result as { sessions: { sessionId: string }[] };
    expect(sessions.map((one) => one.sessionId).toSorted()).toEqual([sessionId, delegating].toSorted());

    const entries = (await home.done("ledger", "log", "--json"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const kinds = JSON.stringify(entries);
    expect(kinds).toContain("interrupted");
    expect(kinds).toContain("unknown");
    expect(await home.run("ledger", "verify")).toMatchObject({ code: 0 });
  });
});
