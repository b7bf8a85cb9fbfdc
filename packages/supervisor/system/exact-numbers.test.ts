import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AhpClient, AhpServer, serveHttp } from "@reins/ahp";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { supervisorHandlers } from "../src/ahp/handlers.ts";
import { Supervisor } from "../src/decision/supervisor.ts";
import { Identity } from "../src/identity/identity.ts";
import { PolicyKeeper } from "../src/policies/policy-keeper.ts";
import { Reports } from "../src/reports/reports.ts";
import { Runs } from "../src/runs/runs.ts";
import { newHome, openParts, plainFacts } from "./fixtures/supervised.ts";

const RULES = `
tool_rules:
  - { name: smaller, condition: { tool_name_matches: [big] }, verdict: modify, patch: { size: 1 } }
  - { name: known, condition: { tool_name_matches: [pay], arguments: { account: '*7' } }, verdict: blocked }
  - { name: question, condition: { tool_name_matches: [pay] }, verdict: ask, reason: careful }
  - { name: rest, condition: {}, verdict: allowed }
`;

/** Numbers that JavaScript would change, and the nearest that it would not tell from them. */
const big = fc
  .bigInt({ min: 2n ** 53n + 1n, max: 2n ** 63n - 2n })
  .filter((number) => number % 10n !== 7n && number % 10n !== 6n);
const others = [
  "0.1000000000000000055",
  "1152921504606846976",
  "-9007199254740993",
  "123456789012345678901234567890",
];
const NUMBERS = [...fc.sample(big, { seed: 20_261_116, numRuns: 12 }).map(String), ...others];

/** The digits with the last one changed: a number that a double does not tell from it, mostly. */
function neighbour(digits: string): string {
  const last = Number(digits.at(-1));
  return `${digits.slice(0, -1)}${last === 9 ? 8 : last + 1}`;
}

async function served() {
  const home = await newHome();
  await writeFile(join(home, "constitution.yaml"), RULES);
  await writeFile(join(home, "constitution.md"), "be kind");
  await writeFile(join(home, "agent-roster.jsonl"), '{"session_id":"coder","kind":"agent","state":"live"}\n');
  const parts = await openParts(home);
  const { store, ledger, approvals } = parts;
  const policies = await PolicyKeeper.open({ home, ledger, everyMs: 60_000 });
  onTestFinished(() => policies.close());
  const identity = await Identity.open({ store, ledger });
  const supervisor = new Supervisor({ ...parts, policies: policies.inForce, gatherFacts: plainFacts });
  const handlers = supervisorHandlers({
    supervisor,
    identity,
    approvals,
    policies,
    runs: new Runs(store),
    reports: new Reports(store),
    ledger,
    workspaceOf: () => ({ cwd: "/w", roots: ["/w"] }),
  });
  const http = await serveHttp(new AhpServer(handlers));
  onTestFinished(() => http.close());
  const client = await AhpClient.connect(
    { type: "http", url: http.address },
    { agentId: "coder", sessionId: "s1" },
  );
  onTestFinished(() => client.close());
  await client.handshake(["pre_action"]);
  const ask = (tool_name: string, account: string) =>
    client.sendEvent("pre_action", { tool_name, arguments: { account: JSON.rawJSON(account), size: 9 } });
  return { ...parts, ask };
}

test("a number is asked about, approved, bound and recorded to the digit", async () => {
  const { ask, approvals, ledger } = await served();
  for (const digits of NUMBERS) {
    const asked = await ask("pay", digits);
    if (asked.decision !== "escalate") throw new Error(`${digits}: ${asked.decision}`);
    const id = (asked.escalation_target ?? "").slice("approval:".length);
    const shown = await approvals.get(id, "default");
    expect(JSON.stringify(shown?.facts.arguments)).toBe(`{"account":${digits},"size":9}`);
    await approvals.answer(id, { by: "bob", roles: ["approver"], tenant: "default", decision: "allow_once" });
    expect(JSON.stringify((await approvals.get(id, "default"))?.facts.arguments)).toContain(digits);
    expect((await ask("pay", neighbour(digits))).decision).not.toBe("allow");
    expect(await ask("pay", digits)).toMatchObject({ decision: "allow" });
    expect(await ask("pay", digits)).toMatchObject({ decision: "escalate" });
  }
  const verdicts = await ledger.read({ quality: "policy_verdict", limit: 1_000 });
  const recorded = verdicts.map(({ entry }) => JSON.stringify(entry.payload)).join("\n");
  for (const digits of NUMBERS) expect(recorded.includes(digits), digits).toBe(true);
});

test("an always-allow counts for its number alone", async () => {
  const { ask, approvals } = await served();
  const asked = await ask("pay", "9007199254740993");
  if (asked.decision !== "escalate") throw new Error(asked.decision);
  const id = (asked.escalation_target ?? "").slice("approval:".length);
  await approvals.answer(id, { by: "bob", roles: ["approver"], tenant: "default", decision: "allow_always" });
  expect((await ask("pay", "9007199254740992")).decision).toBe("escalate");
  expect((await ask("pay", "9007199254740993")).decision).toBe("allow");
});

test("a rule sees the digits, and a modify leaves them as they are", async () => {
  const { ask } = await served();
  expect(await ask("pay", "9007199254740997")).toMatchObject({ decision: "block" });
  const modified = await ask("big", "9007199254740993");
  if (modified.decision !== "modify") throw new Error(modified.decision);
  expect(JSON.stringify(modified.modified_payload)).toContain('"account":9007199254740993');
});
