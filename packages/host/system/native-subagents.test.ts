import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import {
  call,
  hold,
  reply,
  type Scene,
  type Script,
  ScriptedModel,
  say,
  scene,
  scenes,
} from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { textIn } from "./fixtures/home.ts";
import { stubEntry } from "./fixtures/hub.ts";
import { type NativeTest, openNative, verdictsOf } from "./fixtures/native.ts";

type Native = Awaited<ReturnType<typeof openNative>>;

/** A native agent whose model plays scenes; a child has the same model, and the stub is installed beside it. */
async function scripted(parts: readonly Scene[] | Script, options: NativeTest = {}): Promise<Native> {
  const script = typeof parts === "function" ? parts : scenes(...parts);
  const model = await ScriptedModel.listen({ script });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  return openNative({
    agents: [stubEntry("stub")],
    environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    ...options,
  });
}

const spawn = (given: JsonObject) => scene("delegate", reply(call("spawn_subagent", given)));

const workers = ({ client }: Native): JsonObject[] =>
  client.got
    .map(({ message }) => membersOf(membersOf(message.params).update))
    .filter(({ sessionUpdate }) => sessionUpdate === "worker_update");

/** What the model of the parent got of its child. */
const reported = ({ client }: Native): string =>
  client.got
    .map(({ message }) => membersOf(membersOf(message.params).update))
    .flatMap(({ rawOutput }) => String(membersOf(rawOutput).text ?? ""))
    .join("\n");

describe("subagents that are wanted at once", () => {
  test("work at the same time, each a session with verdicts of its own, and answer in their order", async () => {
    const names = ["one", "two", "three"];
    const together = Promise.withResolvers<void>();
    const looked = new Set<string>();
    const parent = scenes(
      scene("delegate", reply(...names.map((name) => call("spawn_subagent", { prompt: `task of ${name}` })))),
    );
    const agent = await scripted((conversation) => {
      const words = JSON.stringify(conversation.items);
      const name = names.find((one) => words.includes(`task of ${one}`) && !words.includes("delegate"));
      if (name === undefined) return parent(conversation);
      if (!conversation.items.some(({ role }) => role === "tool")) return reply(call("list_files", {}));
      // Each child says something only when all three have looked.
      if (looked.add(name).size === names.length) together.resolve();
      return reply(hold(together.promise), say(`I am ${name}.`));
    });
    await agent.client.prompt(agent.id, "delegate");
    const said = reported(agent);
    expect(said).toContain("I am one.");
    expect(said).toContain("I am three.");
    const verdicts = (await verdictsOf(agent)).map(([, tool]) => tool);
    expect(verdicts.filter((tool) => tool === "spawn_subagent")).toHaveLength(3);
    expect(verdicts.filter((tool) => tool === "list_files")).toHaveLength(3);
  });
});

describe("a subagent", () => {
  test("is a governed session of its own, one deeper, whose steps the parent's client sees", async () => {
    const agent = await scripted([
      spawn({ prompt: "look around", working_dir: "inner" }),
      scene("look around", reply(call("list_files", {})), reply(say("There is a seed."))),
    ]);
    await mkdir(join(agent.workspace, "inner"));
    await writeFile(join(agent.workspace, "inner", "seed.txt"), "seed");
    await agent.client.prompt(agent.id, "delegate");
    expect(reported(agent)).toContain("There is a seed.");
    const updates = workers(agent);
    expect(updates.map(({ event }) => event)).toEqual([
      "WorkerSpawned",
      "WorkerProgressed",
      "WorkerProgressed",
      "WorkerCompleted",
    ]);
    const { audit, terminal, workerMode } = updates.at(-1) ?? {};
    expect({ terminal, workerMode }).toEqual({ terminal: true, workerMode: "sub_agent" });
    const { parent_session_id, session_id, run_id } = membersOf(audit);
    expect(updates.at(-1)?.metadata).toMatchObject({
      started_at: expect.any(String),
      finished_at: expect.any(String),
      snapshot_path: `/v1/sessions/${String(session_id)}`,
      child_run_id: run_id,
      child_run_path: `/v1/runs/${String(run_id)}`,
    });
    const local = agent.harness.identity.local();
    expect(await agent.harness.runs.find(local, String(run_id))).not.toEqual([]);
    expect(parent_session_id).toBe(agent.id);
    const child = await agent.hosting.hub.find(agent.harness.identity.local(), String(session_id));
    expect(child).toMatchObject({
      ...{ parent: agent.id, depth: 1, state: "closed", cwd: join(agent.workspace, "inner") },
      ended: { reason: "completed" },
    });
    const listed = (await agent.entries("policy_verdict")).find(
      ({ target, payload }) => target === "list_files" && membersOf(payload).event_type === "pre_action",
    );
    expect(listed?.entity_id).toBe(child?.key);
    expect(listed?.payload).toMatchObject({
      subject: { depth: 1, started: "sub-agent", chain: ["native"], root_session: agent.id },
    });
  });

  test("of a subagent is shown below it, in the session at the top", async () => {
    const agent = await scripted([
      spawn({ prompt: "OUTER" }),
      scene("OUTER", reply(call("spawn_subagent", { prompt: "INNER" })), reply(say("Passed on."))),
      scene("INNER", reply(say("Here."))),
    ]);
    await agent.client.prompt(agent.id, "delegate");
    const shown = workers(agent);
    const [outer, ...others] = [...new Set(shown.map(({ workerId }) => workerId))];
    expect(others).toHaveLength(1);
    const inner = shown.filter(({ workerId }) => workerId === others[0]);
    expect(inner.map(({ audit }) => membersOf(audit).parent_worker_id)).toEqual(inner.map(() => outer));
    expect(inner.map(({ metadata }) => membersOf(metadata).sequence)).toEqual(inner.map((_, at) => at + 1));
    expect(inner.at(-1)).toMatchObject({ status: "completed", terminal: true });
    expect(shown.at(-1)).toMatchObject({ workerId: outer, status: "completed" });
  });

  test("is any agent that is installed, and what it asks is put to the parent's client", async () => {
    const rules = `
tool_rules:
  - { name: commands, condition: { tool_name_matches: [Bash] }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }
`;
    const agent = await scripted([spawn({ prompt: "run curl example.com", agent: "stub" })], {
      ...{ rules, person: () => "allow_once" },
    });
    await agent.client.prompt(agent.id, "delegate");
    const [question] = agent.client.asked;
    expect(membersOf(question?.params)).toMatchObject({
      sessionId: agent.id,
      toolCall: { title: "stub, for this session: Bash: curl example.com" },
      _meta: { reins: { child_agent: "stub", approval: expect.stringMatching(/^apr_/) } },
    });
    expect(workers(agent).map(({ status }) => status)).toContain("awaiting_input");
    expect(reported(agent)).toContain("yes");
    expect(await agent.entries("approval")).toHaveLength(2);
  });

  test("is none that would have to be installed first, and no unknown one", async () => {
    const agent = await scripted([
      spawn({ prompt: "look", agent: "codex" }),
      scene("again", reply(call("spawn_subagent", { prompt: "look", agent: "unheard-of" }))),
    ]);
    await agent.client.prompt(agent.id, "delegate");
    expect(reported(agent)).toContain("a person can do that with reins agents install codex");
    await agent.client.prompt(agent.id, "again");
    expect(reported(agent)).toContain("unheard-of");
    expect(workers(agent).filter(({ status }) => status === "failed")).toHaveLength(2);
  });

  test("may use no other tools than it was given, and no more calls", async () => {
    const agent = await scripted([
      spawn({ prompt: "try everything", allowed_tools: ["list_files"], max_calls: 1 }),
      scene(
        "try everything",
        reply(call("write_file", { path: "a.txt", content: "a" })),
        reply(call("list_files", {})),
        reply(call("list_files", {})),
        reply(say("That is all.")),
      ),
    ]);
    await agent.client.prompt(agent.id, "delegate");
    expect(reported(agent)).toContain("calls are used up");
    const decided = await verdictsOf(agent);
    expect(decided.filter(([type, tool]) => type === "pre_action" && tool === "list_files")).toEqual([
      ["pre_action", "list_files", "allowed", "performed"],
      ["pre_action", "list_files", "blocked", "performed"],
    ]);
    expect(decided.filter(([, tool]) => tool === "write_file")).toEqual([]);
    // What it was not given is not read for its context either.
    expect(decided).toContainEqual(["pre_action", "read_file", "blocked", "performed"]);
  });

  test("may use no more tokens than it was given", async () => {
    const agent = await scripted([
      spawn({ prompt: "look around", max_tokens: 1 }),
      scene("look around", reply(call("list_files", {})), reply(say("There is nothing."))),
    ]);
    await agent.client.prompt(agent.id, "delegate");
    expect(reported(agent)).toContain("the task's 1 tokens are used up");
    expect(workers(agent).at(-1)).toMatchObject({ status: "failed" });
  });

  test("of an agent that does not know our tools is held to those it was given", async () => {
    const agent = await scripted([spawn({ prompt: "run ls", agent: "stub", allowed_tools: ["Read"] })]);
    await agent.client.prompt(agent.id, "delegate");
    expect(reported(agent)).toContain("no");
    const blocked = (await agent.entries("policy_verdict")).find(({ target }) => target === "Bash");
    expect(blocked?.payload).toMatchObject({
      verdict: "blocked",
      reason: "the task was given Read, and not Bash",
    });
  });

  test("counts against the limits of the session that wants it", async () => {
    const rules = `
tool_rules:
  - { name: all, condition: {}, verdict: allowed }
limits:
  - { name: few, condition: { tool_name_matches: [list_files] }, per: session, calls: 1, within: 1h, exceeded: blocked }
`;
    const agent = await scripted(
      [
        scene("delegate", reply(call("list_files", {})), reply(call("spawn_subagent", { prompt: "look" }))),
        scene("look", reply(call("list_files", {})), reply(say("Seen."))),
      ],
      { rules },
    );
    await agent.client.prompt(agent.id, "delegate");
    const lists = (await verdictsOf(agent)).filter(([, tool]) => tool === "list_files");
    expect(lists.filter(([type]) => type === "pre_action").map(([, , verdict]) => verdict)).toEqual([
      "allowed",
      "blocked",
    ]);
  });

  test("may have children of its own, two deep, whose questions reach the same person", async () => {
    const rules = `
tool_rules:
  - { name: commands, condition: { tool_name_matches: [run_command], event: pre_action }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }
`;
    const agent = await scripted(
      [
        spawn({ prompt: "ALPHA" }),
        scene("ALPHA", reply(call("spawn_subagent", { prompt: "OMEGA" })), reply(say("Passed on."))),
        scene("OMEGA", reply(call("run_command", { command: "echo done > deep.txt" })), reply(say("So."))),
      ],
      { rules, person: () => "allow_once" },
    );
    await agent.client.prompt(agent.id, "delegate");
    expect(await textIn(join(agent.workspace, "deep.txt"))).toBe("done\n");
    expect(agent.client.asked).toHaveLength(1);
    const ran = (await agent.entries("policy_verdict")).find(
      ({ target, payload }) =>
        target === "run_command" &&
        membersOf(payload).verdict === "allowed" &&
        membersOf(payload).event_type === "pre_action",
    );
    expect(ran?.payload).toMatchObject({
      subject: { depth: 2, chain: ["native", "native"], root_session: agent.id },
    });
  });

  test("ends when its time is over, and with the turn of its parent", async () => {
    const never = new Promise<never>(() => undefined);
    const agent = await scripted([
      spawn({ prompt: "sleep", timeout_seconds: 1 }),
      scene("again", reply(call("spawn_subagent", { prompt: "sleep" }))),
      scene("sleep", reply(say("Zzz"), hold(never))),
    ]);
    await agent.client.prompt(agent.id, "delegate");
    expect(reported(agent)).toContain("it took longer than 1 seconds");
    expect(workers(agent).at(-1)).toMatchObject({ status: "failed", terminal: true });
    const turn = agent.client.prompt(agent.id, "again");
    await expect.poll(() => workers(agent).at(-1)?.status).toBe("progressed");
    await agent.client.connection.notification("session/cancel", { sessionId: agent.id });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
    await expect.poll(() => workers(agent).at(-1)?.status).toBe("cancelled");
  });
});
