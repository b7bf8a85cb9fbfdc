import { type JsonObject, membersOf } from "@reins/acp";
import { expect, test } from "vitest";
import type { TestClient } from "./fixtures/hub.ts";
import { openPuppet } from "./fixtures/puppet.ts";

const RULES = `
tool_rules:
  - { name: all, condition: {}, verdict: allowed }
limits:
  - { name: calls, condition: { event: [pre_action, pre_prompt] }, calls: 100, cost: 100, per: session, within: 1d }
`;

const STEPS = [
  { update: { sessionUpdate: "available_commands_update", availableCommands: [{ name: "tidy" }] } },
  { ask: { toolCallId: "1", name: "Bash", kind: "execute", title: "ls", rawInput: { command: "ls" } } },
  { update: { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" } },
  { update: { sessionUpdate: "tool_call_update", toolCallId: "2", kind: "read", status: "completed" } },
  { update: { sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount: 3, currency: "USD" } } },
  { say: "done", in: 10 },
];

/** The texts of one kind of update, in order. */
const said = (client: TestClient, kind: string) =>
  client.got
    .map(({ message }) => membersOf(membersOf(message.params).update))
    .filter(({ sessionUpdate }) => sessionUpdate === kind)
    .map(({ content }) => membersOf(content).text);

test("a session that is resumed replays what was said, decides nothing again and shows only the user's words as the user's", async () => {
  const stage = await openPuppet({ rules: RULES });
  const { harness, hosting, connect, begin, play } = stage;
  await stage.messaging.mailbox.send({ from: "ada", to: "puppet", subject: "hi", body: "the build is red" });
  const id = await begin();
  await play(id, STEPS);
  const prompt = JSON.stringify(STEPS);
  const recorded = async () => {
    await harness.supervisor.close();
    return harness.ledger.size();
  };
  const budget = async () => {
    const [turn] = await stage.entries("turn");
    const { subject } = (await stage.entries("policy_verdict"))[0]!.payload as { subject: never };
    return { turn: turn?.cid, used: await harness.supervisor.budget(subject) };
  };
  const before = { charged: await budget(), verdicts: (await stage.entries("policy_verdict")).length };

  const [agent] = await hosting.hub.running();
  await agent!.process!.stop();
  const later = await connect();
  const size = await recorded();
  await later.request("session/load", { sessionId: id, cwd: stage.workspace, mcpServers: [] });
  const beginning = (await stage.entries("policy_verdict"))
    .map(({ payload }) => (payload as JsonObject).event_type)
    .slice(before.verdicts);
  expect(beginning).toEqual(["session_start"]);
  expect(await budget()).toEqual(before.charged);
  const added = (await harness.ledger.read({ after: size - 1, limit: 100 })).map(
    ({ entry }) => entry.quality,
  );
  expect(added.filter((quality) => quality !== "session_lifecycle" && quality !== "policy_verdict")).toEqual(
    [],
  );

  expect(said(later, "user_message_chunk")).toEqual([prompt]);
  expect(said(later, "agent_message_chunk")).toEqual(["done"]);
  const told = JSON.stringify(later.got);
  expect(told).not.toContain("the build is red");
  expect(told).not.toContain("[constitution:");
  expect(told).toContain("tidy");
});

test("a command of the agent's comes first in its prompt, with nothing before it", async () => {
  const stage = await openPuppet({ rules: RULES });
  const { client } = stage;
  const sessionId = await stage.begin();
  const prompt = [{ type: "text", text: "/tidy up" }];
  await client.request("session/prompt", { sessionId, prompt });
  expect(client.said.join("")).toMatch(/\[constitution: .*`\/tidy` up/s);
  await stage.play(sessionId, STEPS);
  await client.request("session/prompt", { sessionId, prompt });
  expect(client.said.at(-1)).toBe("/tidy up");
});
