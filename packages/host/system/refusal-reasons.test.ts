import type { JsonObject } from "@reins/acp";
import { expect, test } from "vitest";
import { mcpGate } from "../src/governor/mcp-servers.ts";
import { bash, govern, verdictsOf } from "./fixtures/governed.ts";

test("a model gets with the next prompt what was not allowed, and why, once", async () => {
  const governed = await govern({ person: () => "reject_once" });
  const id = await governed.begin();
  await governed.prompt(id, async ({ ask }) => {
    await ask(bash("cat ~/.ssh/id_rsa"));
    return undefined;
  });
  let told: readonly JsonObject[] = [];
  const listen = async ({ prompt }: { readonly prompt: readonly JsonObject[] }) => {
    told = prompt;
    return undefined;
  };
  await governed.prompt(id, listen, "why not?");
  expect(told.map(({ text }) => text)).toEqual([
    expect.stringContaining("- Bash: keys, tokens and passwords are not for agents"),
    "why not?",
  ]);
  await governed.prompt(id, listen, "and now?");
  expect(told.map(({ text }) => text)).toEqual(["and now?"]);
});

test("an agent that gives the message of an error to its model is refused by one, within the turn and once", async () => {
  const governed = await govern({ person: () => "reject_once", quirks: { refusal: "error" } });
  const id = await governed.begin();
  const refused: unknown[] = [];
  for (const command of ["cat ~/.ssh/id_rsa", "sh ./unknown.sh"])
    await governed.prompt(id, async ({ ask }) => {
      refused.push(await ask(bash(command, command)).catch(({ code, message }) => ({ code, message })));
      return undefined;
    });
  expect(refused).toEqual([
    { code: -32010, message: "Not allowed: keys, tokens and passwords are not for agents" },
    { code: -32010, message: expect.stringContaining("Not allowed: denied by user:") },
  ]);
  expect(await verdictsOf(governed)).toEqual(["blocked", "ask", "blocked"]);
  let told: readonly JsonObject[] = [];
  await governed.prompt(id, async ({ prompt }) => {
    told = prompt;
    return undefined;
  });
  expect(told).toHaveLength(1);
});

test("an agent that calls a forbidden MCP tool gets the rule's reason", async () => {
  const outlook = () => ({ verdict: "blocked", reason: "deploys are for people" });
  const harness = {
    supervisor: { outlook, mayUse: () => false },
    policies: {},
    identity: { subjectFor: () => ({}) },
  };
  const context = { harness, entry: { id: "claude", wordings: {} }, principal: {} };
  const session = { context, id: "s", mode: "default", record: { key: "k" }, mcpTools: new Map() } as never;
  const gate = mcpGate(session);
  expect(gate.reasonAgainst?.({ server: "lab", name: "deploy" })).toBe("deploys are for people");
});
