import { realpathSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { type JsonObject, RpcError } from "@reins/acp";
import { exportLines } from "@reins/ledger";
import { attempt, reply, runCommand, say, scene, scenes, writeFile } from "@reins/scripted-model";
import { Redactor } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import type { Hub } from "../src/hub/hub.ts";
import { CANARIES, CONFIGURED, leaksIn } from "./fixtures/canaries.ts";
import { openTestHome, type TestHome } from "./fixtures/home.ts";
import type { TestClient } from "./fixtures/hub.ts";
import { openPuppet, type Step } from "./fixtures/puppet.ts";
import { openRealAgent } from "./fixtures/real-agents.ts";

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

const RULES = `
tool_rules:
  - { name: smaller, condition: { tool_name_matches: [Big], arguments: { size: '9' } }, verdict: modify, patch: { size: 1 } }
  - { name: people, condition: { tool_name_matches: [Bash], arguments: { command: '*ask*' } }, verdict: ask }
  - { name: never, condition: { tool_name_matches: [Bash], arguments: { command: '*never*' } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }
`;

const all = CANARIES.map(({ text }) => text).join("\n");
const text = (said: string) => ({ type: "text", text: said });
const chunk = (said: string, sessionUpdate = "agent_message_chunk", messageId = "m"): Step => ({
  update: { sessionUpdate, messageId, content: text(said) },
});
const call = (toolCallId: string, more: JsonObject): Step => ({
  update: { sessionUpdate: "tool_call_update", toolCallId, ...more },
});
const content = (said: string) => [{ type: "content", content: text(said) }];

const redactor = Redactor.create({ values: [CONFIGURED] });
const openStage = () => openPuppet({ rules: RULES, redactor });

/** The files of a home, byte by byte, but for what agents keep in homes of their own. */
async function filesIn(home: string): Promise<string> {
  const files = await readdir(home, { recursive: true, withFileTypes: true });
  const paths = files
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.startsWith(join(home, "homes")));
  return (await Promise.all(paths.map((path) => readFile(path, "latin1")))).join("\n");
}

/** What is in the database, in every table: in its file, text is cut up where pages end. */
function kept(home: string): string {
  const database = new DatabaseSync(join(realpathSync(home), "reins.db"), { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all());
  database.close();
  return rows
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : String(value)))
    .join("\n");
}

/** What is left behind: on disk, in an export of the ledger, and in what clients received without a question. */
async function recordsOf({ harness, ledger, home }: TestHome, hub: Hub, client: TestClient) {
  await harness.supervisor.close();
  await hub.log.flush();
  const lines: string[] = [];
  for await (const line of exportLines(ledger)) lines.push(line);
  const told = client.got.map(({ message }) => message).filter(({ id }) => id === undefined);
  return { disk: kept(home) + (await filesIn(home)), exported: lines.join("\n"), told: JSON.stringify(told) };
}

describe("secrets that pass through", () => {
  test("are in no record, and what was asked for is done exactly", async () => {
    const stage = await openStage();
    const { client, workspace, begin, play } = stage;
    const [file, prompt, got] = ["asked-for.txt", "prompt.txt", "got.txt"].map((name) =>
      join(workspace, name),
    );
    const env = [{ name: "CONFIDANT_TOKEN", value: CANARIES[0]!.text }];
    const args = [fixture("confidant.mjs"), got!, "--token", CANARIES[1]!.text];
    const id = await begin([{ name: "confidant", command: process.execPath, args, env }]);
    const steps: Step[] = [
      { keep: prompt },
      chunk(all, "agent_message_chunk", "whole"),
      chunk(all, "agent_thought_chunk", "thought"),
      ...[1, 7, 40].map((size) => ({ say: all, in: size })),
      ...CANARIES.map(({ text: said }) =>
        call(`call ${said}`, { kind: "read", title: said, rawInput: { said }, status: "pending" }),
      ),
      call("output", { content: content(all), rawOutput: { output: all }, status: "in_progress" }),
      call("diff", { content: [{ type: "diff", path: file, oldText: all, newText: all }] }),
      call("terminal", { _meta: { terminal_output: { terminal_id: "1", data: all } } }),
      call("error", { kind: "read", status: "failed", content: content(all), rawOutput: { error: all } }),
      { update: { sessionUpdate: "plan", entries: [{ content: all, priority: "low", status: "pending" }] } },
      { update: { sessionUpdate: "session_info_update", title: all } },
      {
        update: {
          sessionUpdate: "available_commands_update",
          availableCommands: [{ name: "tell", description: all }],
        },
      },
      { update: { sessionUpdate: "nobody_knows_this", anything: { at: { all: [all] } } } },
      { ask: { toolCallId: "a", name: "Bash", title: all, rawInput: { command: `ask ${all}` } } },
      { ask: { toolCallId: "n", name: "Bash", title: all, rawInput: { command: `never ${all}` } } },
      { ask: { toolCallId: "b", name: "Big", title: "big", rawInput: { size: 9, all } } },
      { request: ["fs/write_text_file", { path: file, content: all }] },
      { request: ["fs/read_text_file", { path: join(workspace, CANARIES[0]!.text) }] },
      ...["tell", "fail", "die"].map((tool) => ({ call: [tool, { text: all }] })),
      { stdout: `no message: ${all}` },
    ];
    expect(await play(id, steps)).toMatchObject({ stopReason: "end_turn" });

    expect(await readFile(file!, "utf8")).toBe(all);
    expect(await readFile(prompt!, "utf8")).toBe(JSON.stringify(steps));
    expect(await readFile(got!, "utf8")).toBe(all.repeat(3));
    expect(leaksIn(JSON.stringify(client.asked))).not.toEqual([]);

    const { disk, exported, told } = await recordsOf(stage, stage.hosting.hub, stage.client);
    for (const [where, records] of Object.entries({ disk, exported, told })) {
      expect({ where, leaks: leaksIn(records) }).toEqual({ where, leaks: [] });
      expect(records).toContain("[redacted]");
    }
    expect(leaksIn(stage.faults.join("\n"))).toEqual([]);
    expect(stage.faults.join("\n")).toContain("no message");
    const verdicts = await stage.entries("policy_verdict");
    const commitments = verdicts.map(({ payload }) => (payload as JsonObject).payload_commitment);
    expect(commitments).toEqual(commitments.map(() => expect.stringMatching(/^hmac-sha256:/)));
  });

  test("are on no disk while an approval waits or a grant stands, and the person who answers sees them exactly", async () => {
    const home = await openTestHome({ redactor });
    const { approvals, identity } = home.harness;
    const principal = identity.local();
    const { tenant } = principal;
    const asks = { principal, agent: "puppet", session: "s", enforcement: "asked" } as const;
    const words = CANARIES.map(({ text: said }) => said);
    const request = {
      subject: identity.subjectFor(asks),
      event_type: "pre_action",
      facts: {
        tool: "Bash",
        effects: [{ kind: "exec", command: "echo", arguments: words, opaque: true } as const],
        opaque: false,
        doubts: [all],
        claims: { title: all },
        arguments: { command: `echo ${all}` },
      },
      cwd: join(home.workspace, CANARIES[0]!.text),
      target_state: { [join(home.workspace, CANARIES[1]!.text)]: "absent" },
      reason: all,
    };
    const waiting = await approvals.seek(request);
    const { id } = await approvals.seek({ ...request, event_type: "pre_prompt" });
    await approvals.answer(id, {
      by: "ann",
      roles: ["approver"],
      tenant,
      decision: "allow_always",
      note: all,
    });
    const shown = [await approvals.get(waiting.id, tenant), await approvals.grants.list({ tenant })];
    for (const exact of shown) expect(leaksIn(JSON.stringify(exact))).toHaveLength(CANARIES.length);
    expect(leaksIn(JSON.stringify(await approvals.get(id, tenant)))).toEqual([]);
    expect(leaksIn(kept(home.home) + (await filesIn(home.home)))).toEqual([]);
  });

  test.skipIf(!registryAnswers)(
    `of a real agent neither, and it writes them exactly${NEEDS_REGISTRY}`,
    async () => {
      const home = await openTestHome({ redactor });
      const path = join(home.workspace, "asked-for.txt");
      const script = scenes(
        scene("TELL", reply(say(all))),
        scene("WRITE", reply(attempt(writeFile(path, all))), reply(say("Done."))),
        scene("RUN", reply(attempt(runCommand(`echo '${CANARIES[0]!.text}'`))), reply(say("Done."))),
      );
      const real = await openRealAgent("codex", { script, home });
      real.state.person = () => "allow_once";
      const id = await real.begin();
      await real.prompt(id, `TELL me ${all}`);
      await real.prompt(id, "WRITE it");
      await real.prompt(id, "RUN it");
      expect((await readFile(path, "utf8")).trimEnd()).toBe(all);
      expect(real.client.said.join("")).toContain("[redacted]");
      const { disk, exported, told } = await recordsOf(home, real.hub, real.client);
      for (const [where, records] of Object.entries({ disk, exported, told }))
        expect({ where, leaks: leaksIn(records) }).toEqual({ where, leaks: [] });
    },
  );

  test("are not in reports of an agent that dies, or of what it wrote before", async () => {
    const stage = await openStage();
    const id = await stage.begin();
    const filler = Array.from({ length: 3_000 }, (_, line) => `line ${line} of a long complaint`).join("\n");
    const dying = stage.play(id, [{ stderr: `${all}\n${filler}\n${all}` }, { exit: 3 }]);
    const error = await dying.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining("The puppet ended with code 3") });
    expect(error).toBeInstanceOf(RpcError);
    const said = JSON.stringify((error as RpcError).toWire());
    expect(said).toContain("[redacted]");
    expect(leaksIn(said)).toEqual([]);
    const { disk, told } = await recordsOf(stage, stage.hosting.hub, stage.client);
    expect(leaksIn(disk + told)).toEqual([]);
  });
});
