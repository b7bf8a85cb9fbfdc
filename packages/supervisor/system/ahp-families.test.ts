import { AhpServer, EventType, isSpecialised } from "@reins/ahp";
import { Roster } from "@reins/policy";
import { describe, expect, test } from "vitest";
import { supervisorHandlers } from "../src/ahp/handlers.ts";
import { Supervisor } from "../src/decision/supervisor.ts";
import { Identity } from "../src/identity/identity.ts";
import { Reports } from "../src/reports/reports.ts";
import { Runs } from "../src/runs/runs.ts";
import { newHome, openParts, plainFacts, policyOf, requestContext } from "./fixtures/supervised.ts";

const RULES = `
tool_rules:
  - { name: strangers, condition: { agent_trust: unknown }, verdict: blocked, reason: not on the roster }
  - { name: tools, condition: {}, verdict: ask }
`;
const ROSTER = '{"session_id":"coder","kind":"agent","state":"live"}\n';

const PAYLOADS = {
  idle: { idle_duration_ms: 60_000, idle_reason: "done" },
  context_perception: {
    ...{ session_id: "main", intent: "understand", urgency: "normal", modality: ["text"] },
    target: { entity: { name: "x", entity_type: "file" } },
    context: { workspace: "/w" },
  },
  memory_recall: {
    session_id: "main",
    query: "q",
    memory_type: "any",
    max_results: 3,
    working_directory: "/w",
  },
  planning: { session_id: "main", task_description: "t", available_strategies: ["none"] },
  reasoning: { session_id: "main", reasoning_type: "re_act", problem_statement: "p" },
  rate_limit: { session_id: "main", limit_type: "llm_token_limit", retry_after_ms: 5, current_usage: "1" },
  confirmation: { session_id: "main", confirmation_type: "user_confirm", message: "Deploy?" },
  intent_detection: { session_id: "main", prompt: "fix it", workspace: "/w" },
} as const;

const FAMILIES = EventType.options.filter(isSpecialised);
/** What each family is answered where nothing may happen. */
const CLOSED: Readonly<Record<string, string>> = {
  idle: "defer",
  rate_limit: "skip",
  confirmation: "reject",
};

async function served(rules: string | undefined, roster = ROSTER) {
  const { store, ledger, approvals } = await openParts(await newHome());
  const policy = rules === undefined ? undefined : policyOf(rules);
  const identity = await Identity.open({ store, ledger });
  identity.useRoster(Roster.read(roster));
  const supervisor = new Supervisor({
    ...{ store, ledger, approvals, gatherFacts: plainFacts },
    policies: { get: () => policy },
  });
  const answered: string[] = [];
  const answer = (type: string, decision: object) => async () => {
    answered.push(type);
    return decision;
  };
  const server = new AhpServer(
    supervisorHandlers({
      ...{ supervisor, identity, approvals, ledger, runs: new Runs(store), reports: new Reports(store) },
      policies: { status: () => undefined },
      workspaceOf: () => requestContext.workspace,
      families: {
        idle: answer("idle", { decision: "allow" }),
        context_perception: answer("context_perception", {
          decision: "allow",
          injected_context: { facts: [] },
        }),
        memory_recall: answer("memory_recall", { decision: "allow", injected_facts: [] }),
        planning: answer("planning", { decision: "allow", selected_strategy: "none" }),
        reasoning: answer("reasoning", { decision: "allow" }),
        rate_limit: answer("rate_limit", { decision: "queue" }),
        intent_detection: answer("intent_detection", {
          ...{ decision: "allow", detected_intent: "fix", confidence: 1 },
        }),
      },
    }),
  );
  await identity.addUser({ id: "ann", name: "ann", email: "ann@example.com", roles: [], scopes: ["*"] });
  const { id: principal } = await identity.createToken({ user: "ann", kind: "agent", agents: ["coder"] });
  const ask = async (event_type: string, payload: unknown, session_id = "main") => {
    const params = {
      ...{ event_type, payload, session_id, agent_id: "coder", depth: 0 },
      timestamp: "2026-01-01T00:00:00Z",
    };
    const text = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "ahp/event", params });
    const reply = JSON.parse(
      (await server.handleMessage(text, { transport: "memory", principal })) ?? "null",
    );
    return reply.result ?? { decision: "error", reason: reply.error.message };
  };
  return { ask, approvals, ledger, identity, principal, answered };
}

describe("every typed family", () => {
  test("is decided by the policy and on the record before it is answered", async () => {
    const { ask, ledger, answered } = await served(RULES);
    for (const type of FAMILIES) {
      const { decision } = await ask(type, PAYLOADS[type]);
      expect([type, decision]).not.toEqual([type, "error"]);
      expect([type, decision]).not.toEqual([type, CLOSED[type] ?? "block"]);
    }
    expect(answered.toSorted()).toEqual(FAMILIES.filter((type) => type !== "confirmation").toSorted());
    await expect
      .poll(async () =>
        (await ledger.read({ quality: "policy_verdict", limit: 100 }))
          .map(({ entry }) => Object(entry.payload).event_type)
          .toSorted(),
      )
      .toEqual(FAMILIES.toSorted());
  });

  test.each([
    ["a rule says so", "tool_rules: [{ name: no, condition: { event: ['*'] }, verdict: blocked }]", ROSTER],
    ["its agent is unknown", RULES, ""],
    ["no policy is in force", undefined, ROSTER],
  ])("is closed when %s", async (_, rules, roster) => {
    const { ask, answered } = await served(rules, roster);
    for (const type of FAMILIES)
      expect([type, (await ask(type, PAYLOADS[type])).decision]).toEqual([type, CLOSED[type] ?? "block"]);
    expect(answered).toEqual([]);
  });

  test.each(EventType.options)("%s is not allowed for a session_id of a megabyte, nor kept", async (type) => {
    const { ask, ledger, answered } = await served(RULES);
    const payload = Object.entries(PAYLOADS).find(([name]) => name === type)?.[1] ?? {};
    const { decision } = await ask(type, payload, "x".repeat(1 << 20));
    const blocking = isSpecialised(type) || ["pre_action", "pre_prompt", "session_start"].includes(type);
    if (blocking) expect(["block", "error", CLOSED[type]]).toContain(decision);
    expect(answered).toEqual([]);
    const kept = (await ledger.read({ limit: 100 })).map(({ entry }) => entry.quality);
    expect(kept.filter((quality) => quality !== "policy_change")).toEqual([]);
  });

  test("is refused once the token is revoked", async () => {
    const { ask, identity, principal, answered } = await served(RULES);
    await identity.revokeToken(principal);
    for (const type of FAMILIES)
      expect((await ask(type, PAYLOADS[type])).reason).toContain("the token is no longer valid");
    expect(answered).toEqual([]);
  });
});

test("a confirmation waits for a person, and a yes counts for these words once", async () => {
  const { ask, approvals } = await served(RULES);
  const deploy = PAYLOADS.confirmation;
  expect(await ask("confirmation", deploy)).toEqual({ decision: "escalate" });
  const [waiting] = await approvals.list({ tenant: "default", state: "pending" });
  expect(waiting?.facts.arguments).toEqual({ confirmation_type: "user_confirm", message: "Deploy?" });
  await approvals.answer(waiting?.id ?? "", {
    ...{ by: "bob", roles: ["approver"], tenant: "default", decision: "allow_once" },
  });
  expect(await ask("confirmation", { ...deploy, message: "Delete?" })).toEqual({ decision: "escalate" });
  expect(await ask("confirmation", deploy)).toEqual({ decision: "approve" });
  expect(await ask("confirmation", deploy)).toEqual({ decision: "escalate" });
});

test.each(["handshake", "query"])("%s is no event to be allowed", async (type) => {
  const { ask } = await served("tool_rules: [{ name: all, condition: {}, verdict: allowed }]");
  expect(await ask(type, {})).toMatchObject({
    decision: "error",
    reason: expect.stringContaining("method of its own"),
  });
});
