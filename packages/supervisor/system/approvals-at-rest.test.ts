import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { describeApproval } from "../src/approvals/answerer.ts";
import { renewApprovalSeals } from "../src/approvals/at-rest.ts";
import { approvalTables } from "../src/approvals/tables.ts";
import { Vault } from "../src/record/vault.ts";
import { act, actionOf, requestOf, subjectOf } from "../test/approvals/requests.ts";
import { scratchFolder, testHome } from "./fixtures/approvals-home.ts";

const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const tenant = "acme";
const exec = { kind: "exec", command: "curl", arguments: ["-H", `x: ${TOKEN}`], opaque: false } as const;
const facts = actionOf({
  tool: "bash",
  effects: [exec],
  claims: { title: `send ${TOKEN}` },
  arguments: { command: `curl -H 'x: ${TOKEN}'` },
});
const target_state = { "/w/pin": `sha256:${"0f".repeat(32)}` };
const request = requestOf({
  facts,
  target_state,
  reason: `it sends ${TOKEN}`,
  subject: subjectOf({ tenant }),
});
const yes = { by: "ann", roles: ["approver"], tenant, decision: "allow_once" } as const;
const no = { by: "ann", roles: ["approver"], tenant, decision: "deny" } as const;

/** Everything in the files of the database. */
function bytesIn(folder: string): string {
  const files = readdirSync(folder).filter((name) => name.startsWith("reins.db"));
  return files.map((name) => readFileSync(join(folder, name), "latin1")).join("\n");
}

function change(folder: string, sql: string): void {
  const database = new DatabaseSync(join(folder, "reins.db"));
  database.exec(sql);
  database.close();
}

test("a question is shown exactly, also after a restart, and its secrets are in no file", async () => {
  const folder = await scratchFolder();
  const first = await testHome({ folder });
  const asked = await first.approvals.seek(request);
  await first.close();
  const { approvals } = await testHome({ folder });
  const found = await approvals.get(asked.id, tenant);
  expect(found).toEqual(asked);
  expect(describeApproval(found!)).toContain(TOKEN);
  expect(await approvals.list({ tenant })).toEqual([asked]);
  expect((await approvals.changes({ after: 0, limit: 9 })).map(({ approval }) => approval)).toEqual([asked]);
  expect(bytesIn(folder)).not.toContain(TOKEN);
});

test("a secret that only the arguments mark as such is in no file either, even when it is repeated", async () => {
  const folder = await scratchFolder();
  const { approvals, ledger } = await testHome({ folder });
  const word = "open-sesame-9";
  const told = actionOf({ tool: "login", effects: [], arguments: { password: word } });
  const asked = await approvals.seek({ ...request, facts: told, reason: `the password ${word} is weak` });
  expect(asked.reason).toContain(word);
  await approvals.answer(asked.id, { ...no, note: `not with ${word}` });
  const entries = await ledger.read({ quality: "approval" });
  expect(entries.map(({ entry }) => Object(entry.payload).state)).toEqual(["pending", "denied"]);
  expect(bytesIn(folder)).not.toContain(word);
});

test("once it is answered, nothing but the form without secrets and the binding is kept", async () => {
  const folder = await scratchFolder();
  const home = await testHome({ folder });
  const { id, binding } = await home.approvals.seek(request);
  await home.approvals.answer(id, { ...yes, note: `use ${TOKEN}` });
  const kept = await home.approvals.get(id, tenant);
  expect(JSON.stringify(kept)).not.toContain(TOKEN);
  expect(kept).toMatchObject({ state: "approved", binding, tool: "bash", cwd: "/w" });
  expect(kept?.facts.arguments).toEqual({ command: expect.stringContaining("[redacted]") });
  expect(kept?.target_state["/w/pin"]).toMatch(/^hmac-sha256:(?!0f0f)[0-9a-f]{64}$/);
  const database = new DatabaseSync(join(folder, "reins.db"), { readOnly: true });
  expect(database.prepare("SELECT sealed FROM approvals").all()).toEqual([{ sealed: null }]);
  database.close();
  expect(bytesIn(folder)).not.toContain(TOKEN);
  expect(await act(home, request)).toBe("allowed");
});

test("what was changed, or put in another's place, can only be denied, and is asked anew", async () => {
  const folder = await scratchFolder();
  const first = await testHome({ folder });
  const [one, two, three] = await Promise.all(
    ["/w", "/x", "/y"].map((cwd) => first.approvals.seek({ ...request, cwd })),
  );
  await first.close();
  change(
    folder,
    `UPDATE approvals SET sealed = (SELECT sealed FROM approvals WHERE id = '${two!.id}') WHERE id = '${one!.id}';
     UPDATE approvals SET binding = '${one!.binding}x', body = replace(body, binding, '${one!.binding}x') WHERE id = '${two!.id}';
     UPDATE approvals SET sealed = NULL WHERE id = '${three!.id}'`,
  );
  await expect(testHome({ folder })).rejects.toThrow("are not what was written");
  const { approvals } = await testHome({ folder, acceptLoss: true });
  for (const { id } of [one!, two!, three!]) {
    const found = await approvals.get(id, tenant);
    expect(found).toMatchObject({ state: "pending", options: ["deny"], unreadable: expect.any(String) });
    expect(describeApproval(found!)).toContain("can only be denied");
    await expect(approvals.answer(id, yes)).rejects.toMatchObject({ code: "conflict" });
    await expect(approvals.answer(id, yes)).rejects.toThrow(/can only be denied: .*bring reins\.db back/);
  }
  expect(await approvals.list({ tenant, state: "pending" })).toHaveLength(3);
  expect(await approvals.answer(three!.id, no)).toMatchObject({ state: "denied" });
  const again = await approvals.seek(request);
  expect(again.id).not.toBe(one!.id);
  expect(await approvals.get(one!.id, tenant)).toMatchObject({ state: "withdrawn" });
  expect(await approvals.get(again.id, tenant)).toEqual(again);
});

test("without the key that it was sealed with, nothing counts, and it is said which key is missing", async () => {
  const folder = await scratchFolder();
  const first = await testHome({ folder });
  const asked = await first.approvals.seek(request);
  const other = { ...request, cwd: "/elsewhere" };
  const granted = await first.approvals.seek(other);
  await first.approvals.answer(granted.id, { ...yes, decision: "allow_always" });
  expect(await act(first, other)).toBe("allowed");
  expect(await act(first, other)).toBe("allowed");
  const lost = first.vault.keyId;
  await first.close();
  await rm(join(folder, "keys", "vault.key"));
  const errors: unknown[] = [];
  const home = await testHome({ folder, onError: (error) => errors.push(error) });
  const { approvals } = home;
  await expect(approvals.answer(asked.id, yes)).rejects.toThrow(
    `${lost}, and this home has ${home.vault.keyId}`,
  );
  await expect.poll(() => errors).toEqual([expect.objectContaining({ code: "other_key" })]);
  expect(String(errors[0])).toMatch(/2 approvals and grants.*bring keys\/vault\.key back from a backup/);
  const [grant] = await approvals.grants.list({ tenant });
  expect(grant).toMatchObject({ unreadable: expect.stringContaining(lost) });
  expect(await act(home, other)).toBe("ask");
  const [again] = await approvals.list({ tenant, state: "pending", order: "newest" });
  await approvals.answer(again!.id, { ...yes, decision: "allow_always" });
  expect(await approvals.grants.list({ tenant })).toEqual([
    expect.objectContaining({ id: grant!.id, revoked_by: "reins:system" }),
    expect.objectContaining({ effects: [exec] }),
  ]);
});

test("a new key seals everything anew, and nothing needs the old one any more", async () => {
  const folder = await scratchFolder();
  const first = await testHome({ folder });
  const asked = await first.approvals.seek(request);
  const { id } = await first.approvals.seek({ ...request, cwd: "/elsewhere" });
  await first.approvals.answer(id, { ...yes, decision: "allow_always" });
  const key = await Vault.rotate(join(folder, "keys"));
  const vault = await Vault.open(join(folder, "keys"));
  await renewApprovalSeals(first.store, vault);
  expect(await first.store.query(approvalTables, "sealedWith", null)).toEqual([{ key, count: 2 }]);
  await vault.forgetFormer();
  await first.close();
  const { approvals } = await testHome({ folder });
  expect(await approvals.get(asked.id, tenant)).toEqual(asked);
  expect(await approvals.grants.list({ tenant })).toMatchObject([{ effects: [exec] }]);
});

test("a grant shows exactly what it covers, until it is revoked, and its secrets are in no file", async () => {
  const folder = await scratchFolder();
  const home = await testHome({ folder });
  const { approvals } = home;
  const doubtful = { ...request, facts: { ...facts, doubts: ["who knows"] } };
  const { id } = await approvals.seek(doubtful);
  await approvals.answer(id, { ...yes, decision: "allow_always" });
  const [grant] = await approvals.grants.list({ tenant });
  expect(grant).toMatchObject({ effects: [exec], arguments: facts.arguments });
  expect(bytesIn(folder)).not.toContain(TOKEN);
  await approvals.grants.revoke(grant!.id, { by: "ann", roles: ["approver"], tenant });
  expect(JSON.stringify(await approvals.grants.get(grant!.id, tenant))).not.toContain(TOKEN);
});
