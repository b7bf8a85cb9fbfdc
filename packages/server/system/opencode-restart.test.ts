import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { expect, onTestFinished, test } from "vitest";
import { dataOf, EventReader, type OpenCodeServer, opencodeClient } from "./fixtures/opencode.ts";
import { ServerProcess } from "./fixtures/server-process/server-process.ts";

const RULES = `
tool_rules:
  - { name: writes, condition: { tool_name_matches: [write_file] }, verdict: ask, reason: people decide }
  - { name: all, condition: {}, verdict: allowed }
`;
const SCRIPT = scenes(
  scene(
    "write a note",
    reply(say("I will."), call("write_file", { path: "note.txt", content: "a note\n" })),
    reply(say("It is written.")),
  ),
  scene("go on", reply(say("I go on."))),
);
const text = (words: string) => [{ type: "text" as const, text: words }];

test("the native agent is prompted, asks, and survives a kill of the server with the same ids", async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "opencode-")));
  const model = await ScriptedModel.listen({ script: SCRIPT });
  onTestFinished(async () => {
    await model[Symbol.asyncDispose]();
    await rm(base, { recursive: true, force: true });
  });
  const start = async (): Promise<OpenCodeServer & { readonly server: ServerProcess }> => {
    const server = await ServerProcess.start({ base, rules: RULES, model: model.endpoint });
    onTestFinished(() => server.kill());
    return { server, address: server.address, token: server.token };
  };
  const first = await start();
  const { workspace } = first.server;
  const client = opencodeClient(first, workspace);
  const events = await EventReader.open(first);
  const session = await dataOf(client.session.create({ agent: "native" }));
  const sessionID = session.id;
  const turn = client.session.prompt({ sessionID, parts: text("write a note") });
  await expect.poll(() => events.types, { timeout: 20_000 }).toContain("permission.asked");
  const [asked = {}] = events.of("permission.asked");
  expect(asked).toMatchObject({ permission: "edit", patterns: [join(workspace, "note.txt")] });
  await client.permission.reply({ requestID: String(asked.id), reply: "once" });
  const answer = await dataOf(turn);
  expect(answer.info).toMatchObject({ role: "assistant", finish: "stop", agent: "native" });
  expect(answer.parts).toMatchObject([
    { type: "text", text: "I will." },
    { type: "tool", state: { status: "completed" } },
    { type: "text", text: "It is written." },
  ]);
  expect(await readFile(join(workspace, "note.txt"), "utf8")).toBe("a note\n");
  await expect.poll(() => events.types).toContain("session.idle");
  const before = await dataOf(client.session.messages({ sessionID }));
  const seen = events.logged;
  await client.session.promptAsync({ sessionID, parts: text("write a note") });
  await expect.poll(() => events.of("permission.asked").length, { timeout: 20_000 }).toBe(2);
  const middle = events.logged.at(-1)?.frame ?? "";
  await first.server.kill();

  const second = await start();
  const again = opencodeClient(second, workspace);
  const after = await dataOf(again.session.messages({ sessionID }));
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.map(({ info }) => info.role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(after.at(-1)?.info).toMatchObject({
    error: { name: "UnknownError" },
    time: { completed: expect.any(Number) },
  });
  const replayed = await EventReader.open(second, seen[0]?.frame);
  await expect.poll(() => replayed.logged.length).toBeGreaterThanOrEqual(seen.length);
  expect(replayed.logged.slice(0, seen.length - 1)).toEqual(seen.slice(1));
  const resumed = await EventReader.open(second, middle);
  await expect.poll(() => resumed.types).toContain("session.idle");
  const ids = [...events.logged, ...resumed.logged].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const last = await dataOf(again.session.prompt({ sessionID, parts: text("go on") }));
  expect(last.parts).toMatchObject([{ type: "text", text: "I go on." }]);
  const all = await dataOf(again.session.messages({ sessionID }));
  expect(all.slice(0, after.length)).toEqual(after);
  const fork = await dataOf(again.session.fork({ sessionID }));
  expect([fork.id === sessionID, fork.directory, fork.agent]).toEqual([false, workspace, "native"]);
  const forked = await dataOf(again.session.prompt({ sessionID: fork.id, parts: text("go on") }));
  expect(forked.parts).toMatchObject([{ type: "text", text: "I go on." }]);
});
