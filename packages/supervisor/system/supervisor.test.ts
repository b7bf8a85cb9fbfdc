import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AhpClient, AhpServer, type Decision, serveHttp } from "@reins/ahp";
import { describe, expect, onTestFinished, test } from "vitest";
import { supervisorHandlers } from "../src/ahp/handlers.ts";
import { Harnesses } from "../src/decision/harnesses.ts";
import { Supervisor } from "../src/decision/supervisor.ts";
import { Identity } from "../src/identity/identity.ts";
import { PolicyKeeper } from "../src/policies/policy-keeper.ts";
import { Reports } from "../src/reports/reports.ts";
import { Runs } from "../src/runs/runs.ts";
import {
  askedApproval,
  newHome,
  openParts,
  plainFacts,
  policyOf,
  requestContext,
  supervise,
  testSubject,
  toolEvent,
} from "./fixtures/supervised.ts";

const RULES = `
tool_rules:
  - { name: never, condition: { tool_name_matches: [rm] }, verdict: blocked, reason: not here }
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask, reason: careful }
  - { name: later, condition: { tool_name_matches: [wait] }, verdict: defer, retry_after: 5s }
  - { name: smaller, condition: { tool_name_matches: [big] }, verdict: modify, patch: { size: 1 } }
  - { name: rest, condition: {}, verdict: allowed }
`;

describe("a verdict", () => {
  test("that is deferred is in the ledger before the next one, in the same chain", async () => {
    const { supervisor, ledger } = await supervise(RULES);
    const early = await supervisor.decide(toolEvent("ls", {}), testSubject, {
      ...requestContext,
      deferred: true,
    });
    const next = await supervisor.decide(toolEvent("cat", {}), testSubject, requestContext);
    const written = await early.written;
    const entries = await ledger.read({ quality: "policy_verdict" });
    expect(entries.map(({ entry }) => entry.target)).toEqual(["ls", "cat"]);
    expect(entries.map(({ entry }) => entry.cid)).toEqual([written, next.entry]);
    expect(entries[1]?.entry.parents).toEqual([written]);
  });

  test("that allows something is in the ledger, with everything needed to decide it again", async () => {
    const { decide, ledger } = await supervise(RULES);
    const decided = await decide("ls");
    expect(decided).toMatchObject({ verdict: "allowed", rule: "rest", enforcement: "asked" });
    const found = await ledger.get(decided.entry ?? "");
    expect(found?.entry).toMatchObject({
      quality: "policy_verdict",
      actor: "coder",
      target: "ls",
      payload: {
        verdict: "allowed",
        rule: "rest",
        event_type: "pre_action",
        subject: testSubject,
        facts: { tool: "ls" },
        counters: {},
      },
    });
    expect(found?.entry.payload).toMatchObject({
      constitution_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("that allows nothing is in the ledger soon", async () => {
    const { decide, ledger } = await supervise(RULES);
    expect(await decide("rm")).toMatchObject({ verdict: "blocked", rule: "never", reason: "not here" });
    expect(await decide("wait")).toMatchObject({ verdict: "defer", retry_after_ms: 5_000 });
    await expect.poll(async () => (await ledger.read({ quality: "policy_verdict" })).length).toBe(2);
  });

  test("keeps secrets out of the record", async () => {
    const { decide, ledger } = await supervise(`
tool_rules: [{ name: r, condition: { arguments: { header: '*' } }, verdict: allowed }]`);
    const secret = "ghp_0123456789abcdefghijABCDEFGHIJ";
    const { entry } = await decide("curl", { header: `Authorization: Bearer ${secret}`, other: "unnamed" });
    const text = JSON.stringify(await ledger.get(entry ?? ""));
    expect(text).toContain("[redacted]");
    expect(text).not.toContain(secret);
    expect(text).not.toContain("unnamed");
  });
});

describe("limits", () => {
  test("of 1,000 calls at once against a budget of 100, exactly 100 get through, sub-agents included", async () => {
    const { decide, ledger } = await supervise(
      `${RULES}limits: [{ name: budget, per: session, within: 1h, calls: 100 }]`,
    );
    const child = {
      agent: "helper",
      session: "s2",
      root_session: "s1",
      chain: ["coder"],
      started: "sub-agent",
    } as const;
    const decided = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => decide("ls", {}, n % 2 ? child : {})),
    );
    expect(decided.filter(({ verdict }) => verdict === "allowed")).toHaveLength(100);
    const blocked = await decide("rm");
    expect(blocked.rule).toBe("never");
    await expect.poll(() => ledger.size()).toBeGreaterThan(1_000);
  });
});

describe("people", () => {
  test("are asked once, and a yes counts once for exactly what they saw", async () => {
    const { decide, approvals } = await supervise(RULES);
    const first = await decide("deploy", { to: "prod" });
    expect(first).toMatchObject({ verdict: "ask", reason: "careful" });
    expect((await decide("deploy", { to: "prod" })).approval).toBe(first.approval);
    await approvals.answer(askedApproval(first), {
      by: "bob",
      roles: ["approver"],
      tenant: "default",
      decision: "allow_once",
    });
    expect(await decide("deploy", { to: "elsewhere" })).toMatchObject({ verdict: "ask" });
    const [used, again] = [await decide("deploy", { to: "prod" }), await decide("deploy", { to: "prod" })];
    expect(used).toMatchObject({ verdict: "allowed", reason: expect.stringContaining("bob") });
    expect(again.verdict).toBe("ask");
    expect(again.approval).not.toBe(first.approval);
  });

  test("may say no, and that counts", async () => {
    const { decide, approvals } = await supervise(RULES);
    const approval = askedApproval(await decide("deploy"));
    await approvals.answer(approval, {
      by: "bob",
      roles: ["approver"],
      tenant: "default",
      decision: "deny",
      note: "not today",
    });
    expect(await decide("deploy")).toMatchObject({
      verdict: "blocked",
      reason: expect.stringContaining("not today"),
    });
  });

  test("who watch see that their yes was used", async () => {
    const { decide, approvals } = await supervise(RULES);
    const seen: string[] = [];
    approvals.subscribe(({ approval }) => seen.push(approval.state));
    const approval = askedApproval(await decide("deploy"));
    await approvals.answer(approval, {
      by: "bob",
      roles: ["approver"],
      tenant: "default",
      decision: "allow_once",
    });
    await decide("deploy");
    await expect.poll(() => seen).toEqual(["pending", "approved", "used"]);
  });

  test("a yes is used exactly once however many ask at the same time", async () => {
    const { decide, approvals } = await supervise(RULES);
    const approval = askedApproval(await decide("deploy"));
    await approvals.answer(approval, {
      by: "bob",
      roles: ["approver"],
      tenant: "default",
      decision: "allow_once",
    });
    const decided = await Promise.all(Array.from({ length: 20 }, () => decide("deploy")));
    expect(decided.filter(({ verdict }) => verdict === "allowed")).toHaveLength(1);
    expect(decided.every(({ verdict }) => ["allowed", "ask", "blocked"].includes(verdict))).toBe(true);
  });
});

describe("a limit that asks", () => {
  const rules = `
tool_rules:
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }
limits: [{ name: daily, per: user, within: 1d, calls: 1, exceeded: ask }]`;
  const bob = { by: "bob", roles: ["approver"], tenant: "default" };

  test("lets each action beyond it pass by a person's word, once", async () => {
    const { decide, approvals } = await supervise(rules);
    expect(await decide("ls")).toMatchObject({ verdict: "allowed" });
    const beyond = await decide("ls");
    expect(beyond).toMatchObject({ verdict: "ask", rule: "daily" });
    expect(await approvals.get(askedApproval(beyond), "default")).toMatchObject({
      rule: "daily",
      reason: expect.stringContaining("is used up"),
      options: ["allow_once", "deny"],
    });
    await approvals.answer(askedApproval(beyond), { ...bob, decision: "allow_once" });
    expect(await decide("ls")).toMatchObject({ verdict: "allowed", reason: "approved by bob" });
    expect(await decide("ls")).toMatchObject({ verdict: "ask", rule: "daily" });
  });

  test("asks even where a rule's question was answered for always", async () => {
    const { decide, approvals } = await supervise(rules);
    const first = await decide("deploy");
    await approvals.answer(askedApproval(first), { ...bob, decision: "allow_always" });
    expect(await decide("deploy")).toMatchObject({ verdict: "allowed" });
    const beyond = await decide("deploy");
    expect(beyond).toMatchObject({ verdict: "ask", rule: "daily" });
    expect(beyond.approval).not.toBe(first.approval);
    await approvals.answer(askedApproval(beyond), { ...bob, decision: "allow_once" });
    expect(await decide("deploy")).toMatchObject({ verdict: "allowed", reason: "approved by bob" });
    expect(await approvals.grants.list({ tenant: "default" })).toMatchObject([{ uses: 0 }]);
  });
});

describe("a rule that comes to ask two people", () => {
  test.each(["allow_once", "allow_always"] as const)(
    "is not content with one's earlier %s",
    async (decision) => {
      const one = policyOf("tool_rules: [{ name: ask, condition: {}, verdict: ask }]");
      const two = policyOf("tool_rules: [{ name: ask, condition: {}, verdict: ask, quorum: 2 }]");
      let inForce = one;
      const { decide, approvals } = await supervise(undefined, { policies: { get: () => inForce } });
      const approval = askedApproval(await decide("deploy"));
      await approvals.answer(approval, { by: "bob", roles: ["approver"], tenant: "default", decision });
      inForce = two;
      const asked = await decide("deploy");
      expect(asked.verdict).toBe("ask");
      for (const by of ["bob", "eve"])
        await approvals.answer(askedApproval(asked), {
          by,
          roles: ["approver"],
          tenant: "default",
          decision,
        });
      expect(await decide("deploy")).toMatchObject({ verdict: "allowed" });
    },
  );
});

describe("external harnesses", () => {
  async function harness(event: () => Promise<Decision>) {
    const served = await serveHttp(new AhpServer({ event: () => event() }));
    onTestFinished(() => served.close());
    return served.address;
  }

  async function withHarness(url: string, fail = "closed", timeout = "2s") {
    const harnesses = new Harnesses();
    onTestFinished(() => harnesses.close());
    return supervise(
      `${RULES}harnesses: [{ name: other, url: "${url}", fail: ${fail}, timeout: ${timeout} }]`,
      { harnesses },
    );
  }

  test("can only make a verdict stricter", async () => {
    const kind = await withHarness(await harness(async () => ({ decision: "allow" })));
    expect(await kind.decide("rm")).toMatchObject({ verdict: "blocked", rule: "never" });
    expect(await kind.decide("ls")).toMatchObject({ verdict: "allowed", rule: "rest" });
    const strict = await withHarness(await harness(async () => ({ decision: "block", reason: "no" })));
    expect(await strict.decide("ls")).toMatchObject({
      verdict: "blocked",
      rule: "other",
      reason: 'the harness "other" blocks it: no',
    });
  });

  test("may want a person to decide, and what that takes of a limit it takes once", async () => {
    const url = await harness(async () => ({ decision: "escalate", reason: "unsure" }));
    const harnesses = new Harnesses();
    onTestFinished(() => harnesses.close());
    const { decide, approvals, supervisor } = await supervise(
      `${RULES}limits: [{ name: few, per: user, within: 1h, calls: 5 }]
harnesses: [{ name: other, url: "${url}" }]`,
      { harnesses },
    );
    const asked = await decide("ls");
    expect(asked).toMatchObject({ verdict: "ask", rule: "other" });
    expect((await supervisor.budget(testSubject))[0]?.used.calls).toBe(0);
    await approvals.answer(askedApproval(asked), {
      by: "bob",
      roles: ["approver"],
      tenant: "default",
      decision: "allow_once",
    });
    expect(await decide("ls")).toMatchObject({ verdict: "allowed" });
    expect((await supervisor.budget(testSubject))[0]?.used.calls).toBe(1);
  });

  test("that hang or are not there block, unless the constitution names them open, and then the entry says so", async () => {
    const hanging = await withHarness(await harness(() => new Promise(() => {})), "closed", "100ms");
    expect(await hanging.decide("ls")).toMatchObject({
      verdict: "blocked",
      reason: expect.stringContaining("did not decide"),
    });
    const open = await withHarness("http://127.0.0.1:1/ahp", "open");
    const decided = await open.decide("ls");
    expect(decided.verdict).toBe("allowed");
    const entry = await open.ledger.get(decided.entry ?? "");
    expect(entry?.entry.payload).toMatchObject({
      harnesses: [
        { harness: expect.any(String), fail: "open", error: expect.stringContaining("did not decide") },
      ],
    });
  });
});

describe("behind AHP", () => {
  async function served(rules: string) {
    const home = await newHome();
    await writeFile(join(home, "constitution.yaml"), rules);
    await writeFile(join(home, "constitution.md"), "be kind");
    await writeFile(
      join(home, "agent-roster.jsonl"),
      '{"session_id":"coder","kind":"agent","state":"live"}\n',
    );
    const { store, ledger, approvals } = await openParts(home);
    const policies = await PolicyKeeper.open({ home, ledger, everyMs: 60_000 });
    onTestFinished(() => policies.close());
    const identity = await Identity.open({ store, ledger });
    const runs = new Runs(store);
    const supervisor = new Supervisor({
      store,
      ledger,
      approvals,
      policies: policies.inForce,
      gatherFacts: plainFacts,
    });
    const refused: string[] = [];
    const workspaceOf = () => ({ cwd: "/w", roots: ["/w"] });
    const handlers = supervisorHandlers({
      supervisor,
      identity,
      approvals,
      policies,
      runs,
      reports: new Reports(store),
      ledger,
      workspaceOf,
      onRefused: (_, error) => refused.push(String(error)),
    });
    const server = new AhpServer(handlers);
    const http = await serveHttp(server);
    onTestFinished(() => http.close());
    const client = await AhpClient.connect(
      { type: "http", url: http.address },
      { agentId: "coder", sessionId: "s1" },
    );
    onTestFinished(() => client.close());
    await client.handshake(["pre_action"]);
    return { client, server, approvals, policies, home, ledger, refused };
  }

  test("an agent that has to wait for a person queries the approval, and gets its answer when it asks again", async () => {
    const { client, approvals } = await served(RULES);
    const payload = { tool_name: "deploy", arguments: {} };
    const asked = await client.sendEvent("pre_action", payload);
    if (asked.decision !== "escalate") throw new Error(asked.decision);
    const target = asked.escalation_target ?? "";
    expect(target).toMatch(/^approval:apr_/);
    expect((await client.query("approval", { approval: target })).answer).toMatchObject({ state: "pending" });
    await approvals.answer(target.slice("approval:".length), {
      by: "bob",
      roles: ["approver"],
      tenant: "default",
      decision: "allow_once",
    });
    expect((await client.query("approval", { approval: target })).answer).toMatchObject({
      state: "approved",
    });
    expect(await client.sendEvent("pre_action", payload)).toMatchObject({
      decision: "allow",
      metadata: { enforcement: "asked" },
    });
    expect((await client.query("approval", { approval: target })).answer).toMatchObject({ state: "used" });
  });

  test("verdicts become decisions", async () => {
    const { client } = await served(RULES);
    const send = (tool_name: string, args = {}) =>
      client.sendEvent("pre_action", { tool_name, arguments: args });
    expect(await send("rm")).toMatchObject({
      decision: "block",
      reason: "not here",
      metadata: { rule: "never" },
    });
    expect(await send("wait")).toMatchObject({ decision: "defer", retry_after_ms: 5_000 });
    expect(await send("big", { size: 3 })).toMatchObject({
      decision: "modify",
      modified_payload: { size: 1 },
    });
    expect(await client.query("policy", {})).toMatchObject({ answer: { in_force: true, rules: 5 } });
  });

  test("a child is narrowed, carries its chain, and is known by its token", async () => {
    const { client, ledger } = await served(RULES);
    const { answer } = await client.query("delegate", {
      child_agent: "helper",
      task: "look",
      scopes: ["read"],
    });
    const { session_token, session_id } = answer as { session_token: string; session_id: string };
    const event = {
      ...client.event("pre_action", { tool_name: "ls", arguments: {} }),
      agent_id: "helper",
      session_id,
    };
    const decision = await client.sendEvent({ ...event, metadata: { session_token } });
    expect(decision.decision).toBe("allow");
    const [verdict] = await ledger.read({ quality: "policy_verdict", order: "newest", limit: 1 });
    expect(verdict?.entry.payload).toHaveProperty("subject");
    expect(Object(verdict?.entry.payload).subject).toMatchObject({
      agent: "helper",
      chain: ["coder"],
      depth: 1,
      started: "sub-agent",
      scopes: ["read"],
    });
    expect((await client.sendEvent(event)).decision).toBe("block");
  });

  test("runs are kept as they stand, and what cannot follow is refused", async () => {
    const { client, refused, server } = await served(RULES);
    const run = (status: string, n: number) => ({
      run_id: "r",
      session_id: "s1",
      status,
      updated_at: `2026-01-01T00:00:0${n}Z`,
    });
    await client.sendNotification("run_lifecycle", run("created", 1));
    await client.sendNotification("run_lifecycle", run("executing", 2));
    await client.sendNotification("run_lifecycle", run("created", 3));
    await expect.poll(() => refused).toEqual([expect.stringContaining("does not become created")]);
    expect((await client.query("run", { run_id: "r" })).answer).toMatchObject({
      runs: [{ payload: { status: "executing" } }],
    });
    const event = { ...client.event("heartbeat", {}), event_type: "run_lifecycle" };
    const events = [{ ...event, payload: run("created", 4) }];
    const message = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "ahp/batch", params: { events } });
    const answer = await server.handleMessage(message, { transport: "memory" });
    const fault = "a run that is executing does not become created";
    expect(JSON.parse(answer ?? "null")).toMatchObject({
      result: { decisions: [{ decision: "block", reason: expect.stringContaining(fault) }] },
    });
    expect((await client.query("run", { run_id: "r" })).answer).toMatchObject({
      faults: [
        { contract: "run_lifecycle", fault },
        { contract: "run_lifecycle", fault },
      ],
    });
  });

  test("neither runs nor results keep a secret that an agent reports", async () => {
    const { client, home, ledger } = await served(RULES);
    const token = `ghp_${"a1B2".repeat(9)}`;
    const updated_at = "2026-01-01T00:00:01Z";
    const tasks = [{ id: "t", title: `send ${token}`, status: "pending" }];
    await client.sendNotification("task_list", { run_id: "r", session_id: "s1", tasks, updated_at });
    await client.sendNotification("post_action", { tool_name: `curl ${token}`, result: token });
    await expect.poll(async () => (await ledger.read({ quality: "tool_result" })).length).toBe(1);
    await expect
      .poll(async () => JSON.stringify((await client.query("run", { run_id: "r" })).answer))
      .toContain("[redacted]");
    const files = (await readdir(home)).filter((name) => name.startsWith("reins.db"));
    for (const name of files) expect(await readFile(join(home, name), "latin1")).not.toContain(token);
  });

  test("a stricter constitution applies at once, a looser one waits for an admin, a bad one changes nothing", async () => {
    const { client, policies, home, ledger } = await served(RULES);
    const write = async (rules: string) => {
      await writeFile(join(home, "constitution.yaml"), rules);
      await policies.refresh();
    };
    const decision = async (tool_name: string) =>
      (await client.sendEvent("pre_action", { tool_name, arguments: {} })).decision;
    await write(
      RULES.replace(
        "tool_rules:",
        "tool_rules:\n  - { name: more, condition: { tool_name_matches: [ls] }, verdict: blocked }",
      ),
    );
    expect(await decision("ls")).toBe("block");
    await write(RULES);
    expect(await decision("ls")).toBe("block");
    expect(policies.status("default")?.waiting).toBeDefined();
    await write("tool_rules: [{ name: x, verdict: perhaps }]");
    expect(policies.status("default")?.fault).toMatch(/constitution\.yaml:1:\d+: /);
    expect(await decision("ls")).toBe("block");
    await write(RULES);
    await policies.accept("default", "user:default/operator");
    expect(await decision("ls")).toBe("allow");
    const changes = await ledger.read({ tag: "constitution" });
    expect(changes.map(({ entry }) => entry.actor)).toEqual([
      "reins:system",
      "reins:system",
      "user:default/operator",
    ]);
  });
});
