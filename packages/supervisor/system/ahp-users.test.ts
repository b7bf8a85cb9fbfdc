import { AhpServer } from "@reins/ahp";
import { expect, test } from "vitest";
import { supervisorHandlers } from "../src/ahp/handlers.ts";
import { Supervisor } from "../src/decision/supervisor.ts";
import { Identity } from "../src/identity/identity.ts";
import type { Quotas } from "../src/limits/quotas.ts";
import { Reports } from "../src/reports/reports.ts";
import { Runs } from "../src/runs/runs.ts";
import { newHome, openParts, plainFacts, policyOf, requestContext } from "./fixtures/supervised.ts";

const RULES = `
tool_rules:
  - { name: asks, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: rest, verdict: allowed }
`;

/** Two users of one tenant, whose agents go by the same name and call their sessions the same. */
async function twoUsers(quotas?: Pick<Quotas, "turn">) {
  const { store, ledger, approvals } = await openParts(await newHome());
  const policy = policyOf(RULES);
  const identity = await Identity.open({ store, ledger });
  const supervisor = new Supervisor({
    ...{ store, ledger, approvals, gatherFacts: plainFacts },
    policies: { get: () => policy },
  });
  const reports = new Reports(store);
  const refused: string[] = [];
  const server = new AhpServer(
    supervisorHandlers({
      ...{ supervisor, identity, approvals, ledger, runs: new Runs(store), reports },
      policies: { status: () => undefined },
      quotas,
      workspaceOf: () => requestContext.workspace,
      onRefused: (_, error) => refused.push(String(error)),
    }),
  );
  const userNamed = async (user: string) => {
    await identity.addUser({ id: user, name: user, email: `${user}@example.com`, roles: [], scopes: ["*"] });
    const { id: principal } = await identity.createToken({ user, kind: "agent", agents: ["coder"] });
    const send = async (method: string, params: object, id?: string) => {
      const common = { session_id: "main", agent_id: "coder" };
      const message = { jsonrpc: "2.0", ...(id && { id }), method, params: { ...common, ...params } };
      const answer = await server.handleMessage(JSON.stringify(message), { transport: "memory", principal });
      return JSON.parse(answer ?? "null")?.result;
    };
    const event = (event_type: string, payload: object) => ({
      ...{ event_type, payload, depth: 0, timestamp: "2026-01-01T00:00:00Z" },
    });
    return {
      ask: (tool_name: string) => send("ahp/event", event("pre_action", { tool_name, arguments: {} }), "1"),
      tell: (type: string, payload: object = {}, more: object = {}) =>
        send("ahp/event", { ...event(type, payload), ...more }),
      query: async (query_type: string, payload: unknown = null) =>
        (await send("ahp/query", { query_type, payload }, "1")).answer,
    };
  };
  return { ann: await userNamed("ann"), eve: await userNamed("eve"), approvals, ledger, reports, refused };
}

test("an agent cannot query approvals of another user's session of the same name", async () => {
  const { ann, eve } = await twoUsers();
  const { escalation_target: approval } = await ann.ask("deploy");
  expect(await ann.query("approval")).toMatchObject({ approvals: [{ escalation_target: approval }] });
  expect(await ann.query("approval", { approval })).toMatchObject({ state: "pending" });
  expect(await eve.query("approval")).toEqual({ approvals: [] });
  expect(await eve.query("approval", { approval })).toBeNull();
});

test("the end of a session leaves alone what another user's session of the same name waits for and has under way", async () => {
  const { ann, eve, approvals, ledger } = await twoUsers();
  const { escalation_target: approval } = await ann.ask("deploy");
  await ann.ask("ls");
  await eve.tell("session_end");
  await expect.poll(async () => (await ledger.read({ quality: "session_lifecycle" })).length).toBe(1);
  expect(await ann.query("approval", { approval })).toMatchObject({ state: "pending" });
  expect(await approvals.list({ tenant: "default", state: "pending" })).toHaveLength(1);
  await eve.tell("post_action", { tool_name: "ls", result: { success: true } });
  await ann.tell("post_action", { tool_name: "ls", result: { success: true } });
  await expect.poll(async () => (await ledger.read({ quality: "tool_result" })).length).toBe(2);
  const results = await ledger.read({ quality: "tool_result" });
  expect(results.map(({ entry }) => entry.tags.includes("ungated"))).toEqual([true, false]);
});

test("a run is reported by its owner only", async () => {
  const { ann, eve, refused } = await twoUsers();
  const run = (status: string, second: number) => ({
    ...{ run_id: "r", session_id: "main", status, updated_at: `2026-01-01T00:00:0${second}Z` },
  });
  await ann.tell("run_lifecycle", run("created", 1));
  await eve.tell("run_lifecycle", run("cancelled", 2));
  await expect
    .poll(() => refused)
    .toEqual([expect.stringContaining("the run r belongs to another principal")]);
  await ann.tell("run_lifecycle", run("executing", 3));
  await expect
    .poll(() => ann.query("run", { run_id: "r" }))
    .toMatchObject({ runs: [{ payload: { status: "executing" } }] });
});

test("the last heartbeat, success and error of each agent and session are kept, and how many there were", async () => {
  const { ann, eve, reports, ledger, refused } = await twoUsers();
  const key = `sk-ant-api03-${"Ab1".repeat(30)}`;
  for (const kind of ["heartbeat", "success", "error"])
    for (const nth of [1, 2]) await ann.tell(kind, { nth, kind });
  await eve.tell("error", { error_message: `refused with ${key}`, stack: "x".repeat(10_000) });
  await expect.poll(async () => (await reports.list()).reduce((sum, { count }) => sum + count, 0)).toBe(7);
  const all = await reports.list();
  for (const kind of ["heartbeat", "success", "error"] as const) {
    const own = all.filter((report) => report.kind === kind && report.user === "ann");
    const who = { tenant: "default", agent: "coder", session: "main" };
    expect(own).toMatchObject([{ ...who, count: 2, payload: JSON.stringify({ nth: 2, kind }) }]);
  }
  const [eves] = all.filter(({ user }) => user === "eve");
  expect(eves).toMatchObject({ kind: "error", count: 1 });
  expect(eves?.payload.length).toBe(4_096);
  expect(eves?.payload).not.toContain(key);
  await ann.tell("heartbeat", { nth: 3 }, { metadata: { tenant: "acme" } });
  await expect.poll(() => refused).toHaveLength(1);
  await expect.poll(async () => (await ledger.read({ quality: "policy_verdict" })).length).toBe(1);
  expect(await reports.list()).toHaveLength(4);
  await reports.prune(new Date(Date.now() + 60_000));
  expect(await reports.list()).toEqual([]);
});

test("of the reports of a tenant the newest thousand are kept", async () => {
  const { store } = await openParts(await newHome());
  const reports = new Reports(store);
  const notes = Array.from({ length: 1_010 }, (_, n) =>
    reports.note({ tenant: "acme", user: "u", agent: "a", session: `s${n}` }, "heartbeat", {}),
  );
  await reports.note({ tenant: "other", user: "u", agent: "a", session: "s" }, "heartbeat", {});
  await Promise.all(notes);
  const kept = await reports.list(5_000);
  expect(kept.filter(({ tenant }) => tenant === "acme")).toHaveLength(1_000);
  expect(kept.filter(({ tenant }) => tenant === "other")).toHaveLength(1);
});

test("each message counts once against the quota of its user, and waits for its turn", async () => {
  const counted: string[] = [];
  const turn = Promise.withResolvers<void>();
  const quotas = {
    turn: (rate: string, { id }: { readonly id: string }) => {
      counted.push(`${rate} ${id}`);
      return counted.length > 4 ? turn.promise : undefined;
    },
  };
  const { ann } = await twoUsers(quotas);
  await ann.ask("look");
  await ann.tell("session_start");
  await ann.tell("post_action", { tool_name: "look" });
  await ann.query("policy");
  expect(counted).toHaveLength(4);
  expect(new Set(counted).size).toBe(1);
  const asked = ann.ask("look");
  const first = await Promise.race([asked, new Promise((resolve) => setImmediate(resolve, "waits"))]);
  expect(first).toBe("waits");
  turn.resolve();
  expect(await asked).toMatchObject({ decision: "allow" });
});
