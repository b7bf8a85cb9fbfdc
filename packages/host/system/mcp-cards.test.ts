import { type JsonObject, membersOf } from "@reins/acp";
import type { McpGate } from "@reins/mcp";
import { expect, test } from "vitest";
import { govern } from "./fixtures/governed.ts";

const SERVER = { name: "lab", command: "/bin/true", args: [], env: [] };

/** A governor whose MCP servers are not started: a test calls their gate as the gateway would. */
async function opened(person: (params: JsonObject) => string) {
  let gate: McpGate | undefined;
  const wrap = async (server: unknown, given: McpGate) => {
    gate = given;
    return { server, tools: () => [], faults: () => [], close: async () => undefined } as never;
  };
  const governed = await govern({ servers: { wrap }, person });
  const sessionId = await governed.begin({ mcpServers: [SERVER] });
  if (!gate) throw new Error("no server was wrapped");
  const used = gate;
  await used.mayUse({ server: "lab", name: "post" });
  let calls = 0;
  const decide = (given: unknown) => {
    calls += 1;
    const call = {
      id: `c${calls}`,
      server: "lab",
      from: "agent",
      method: "tools/call",
      tool: "post",
    } as const;
    return used.decide({ ...call, arguments: given, continues: false }, new AbortController().signal);
  };
  /** The verdicts that the cards of a turn were shown with, by their ids. */
  const verdicts = (): [string, unknown][] =>
    governed.shown
      .map(({ update }) => membersOf(update))
      .filter(({ toolCallId, _meta }) => toolCallId !== undefined && membersOf(_meta).reins !== undefined)
      .map(({ toolCallId, _meta }) => [String(toolCallId), membersOf(membersOf(_meta).reins).verdict]);
  return { ...governed, sessionId, decide, verdicts };
}

test("the card of an MCP call has the verdict of the gateway, whichever comes first, and no other card has it", async () => {
  const { prompt, sessionId, decide, verdicts, shown, entries } = await opened(({ toolCall }) =>
    JSON.stringify(membersOf(toolCall).rawInput) === '{"text":"c"}' ? "reject_once" : "allow_once",
  );
  const card = (toolCallId: string, rawInput: unknown, more: JsonObject = {}): JsonObject => ({
    ...{ sessionUpdate: "tool_call", toolCallId, name: "mcp.lab.post", status: "pending", rawInput },
    ...more,
  });
  const end = (toolCallId: string, status = "completed"): JsonObject => ({
    ...{ sessionUpdate: "tool_call_update", toolCallId, status },
  });
  await prompt(sessionId, async ({ update }) => {
    // The card comes first.
    await update(card("other", { text: "other" }));
    await update(card("first", { text: "a" }));
    await decide({ text: "a" });
    await update(end("first"));
    // The call comes first.
    await decide({ text: "b" });
    await update(card("second", { text: "b" }));
    await update(end("second"));
    // It is refused.
    await update(card("third", { text: "c" }));
    await decide({ text: "c" });
    await update(end("third", "failed"));
    // Of two that say the same, one was decided.
    await update(card("fourth", { arguments: { text: "d" } }));
    await update(card("fifth", { arguments: { text: "d" } }));
    await decide({ text: "d" });
    for (const id of ["fourth", "fifth", "other"]) await update(end(id));
    return undefined;
  });
  await expect.poll(verdicts).toHaveLength(4);
  expect(Object.fromEntries(verdicts())).toEqual({
    first: "allowed",
    second: "allowed",
    third: "blocked",
    fourth: "allowed",
  });
  const recorded = (await entries("policy_verdict")).map(({ cid }) => cid);
  for (const { update } of shown) {
    const { entry, enforcement } = membersOf(membersOf(membersOf(update)._meta).reins);
    if (entry === undefined) continue;
    expect(recorded).toContain(entry);
    expect(enforcement).toBe("performed");
  }
});
