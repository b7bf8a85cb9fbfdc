import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Store, StoreError } from "@reins/store";
import { expect, test } from "vitest";
import type { Approval } from "../src/approvals/approval.ts";
import type { ApprovalRequest } from "../src/approvals/request.ts";
import { sealPlainApprovals } from "../src/approvals/seal-plain.ts";
import { MIGRATIONS } from "../src/approvals/tables/schema.ts";
import { approvalTables } from "../src/approvals/tables.ts";
import { approvalFor } from "../src/approvals/testing/approval.ts";
import type { Home } from "../src/approvals/testing/home.ts";
import { actionOf, requestOf, subjectOf } from "../src/approvals/testing/requests.ts";
import { act } from "../src/approvals/testing/use.ts";
import { knownRedactor } from "../src/redaction/redact.ts";
import { scratchFolder, testHome } from "./fixtures/approvals-home.ts";

const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const tenant = "acme";
const requestIn = (cwd: string, quorum = 1): ApprovalRequest => {
  const effect = { kind: "exec", command: "curl", arguments: [`x: ${TOKEN}`], opaque: true } as const;
  const facts = actionOf({ tool: "bash", effects: [effect], arguments: { command: `curl 'x: ${TOKEN}'` } });
  return requestOf({ facts, cwd, quorum, target_state: {}, subject: subjectOf({ tenant }) });
};
const now = new Date("2026-11-15T09:00:00.000Z");
const said = (decision: "allow_once" | "allow_always" | "deny") => [
  { by: "ann", decision, note: `because of ${TOKEN}`, at: now.toISOString() },
];

/** Puts the tables of approvals back to the first version of them, with rows as that version kept them. */
function makeOld(folder: string, approvals: readonly Approval[]): void {
  const database = new DatabaseSync(join(folder, "reins.db"));
  database.exec(
    `DROP TABLE approvals_plain; DROP TABLE approval_deliveries; DROP TABLE approval_changes;
     DROP TABLE approval_grants; DROP TABLE approvals; UPDATE migrations SET version = 1 WHERE tables = 'approvals'`,
  );
  database.exec(MIGRATIONS[0] ?? "");
  const approval = database.prepare(
    "INSERT INTO approvals (id, tenant, session, binding, state, answers, expires_at, body, entry, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
  );
  const change = database.prepare(
    "INSERT INTO approval_changes (approval, tenant, state, answers, entry, at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const grant = database.prepare(
    "INSERT INTO approval_grants (id, tenant, user, agent, binding, body) VALUES (?, ?, ?, ?, ?, ?)",
  );
  for (const { state, answers, entry: _, ...body } of approvals) {
    const { id, session, binding, expires_at } = body;
    const [given, text] = [JSON.stringify(answers), JSON.stringify(body)];
    approval.run(id, tenant, session, binding, state, given, expires_at, text, `entry of ${id}`);
    change.run(id, tenant, state, given, `change of ${id}`, now.toISOString());
    if (answers[0]?.decision !== "allow_always") continue;
    const { user, agent, chain, enforcement, event_type, tool, cwd, facts } = body;
    const covers = { effects: facts.effects, arguments: facts.arguments, approval: id, by: ["ann"] };
    const granted = {
      id: `grt_${id}`,
      tenant,
      user,
      agent,
      chain,
      enforcement,
      event_type,
      tool,
      cwd,
      binding,
    };
    const kept = JSON.stringify({ ...granted, ...covers, created_at: now.toISOString() });
    grant.run(granted.id, tenant, user, agent, binding, kept);
  }
  // What was there once is in the free room of the file, too.
  database.exec(
    `CREATE TABLE gone (text TEXT); INSERT INTO gone VALUES ('${TOKEN.repeat(500)}'); DROP TABLE gone`,
  );
  database.close();
  // That version kept no sums of the pages either: the next start makes them anew.
  rmSync(join(folder, "reins.db.sums"));
}

/** A home whose approvals an earlier version kept: one that waits, one with a yes, one with a no, one for always. */
async function oldHome() {
  const folder = await scratchFolder();
  await (await testHome({ folder })).close();
  const kept = (cwd: string, own: Partial<Approval>, quorum?: number) => {
    const names = { id: `apr_${cwd.slice(1)}`, binding: `${cwd.slice(1)}-`.repeat(64).slice(0, 64) };
    return approvalFor(requestIn(cwd, quorum), now, { ...names, ...own });
  };
  makeOld(folder, [
    kept("/waits", {}, 2),
    kept("/yes", { state: "approved", answers: said("allow_once") }),
    kept("/no", { state: "denied", answers: said("deny") }),
    kept("/always", { state: "used", answers: said("allow_always") }),
  ]);
  const bytes = () => {
    const files = readdirSync(folder).filter((name) => name.startsWith("reins.db"));
    return files.map((name) => readFileSync(join(folder, name), "latin1")).join("\n");
  };
  return { folder, bytes };
}

function seal(
  { vault, commitment }: Home,
  store: Pick<Store, "query" | "commit" | "scrub">,
  errors: unknown[] = [],
) {
  const redactor = knownRedactor();
  const onError = (error: unknown) => errors.push(error);
  return sealPlainApprovals({ store, vault, keyed: commitment, redactor, onError });
}

test("what an earlier version kept as it is gets sealed, counts as before, and is gone from the files", async () => {
  const { folder, bytes } = await oldHome();
  expect(bytes()).toContain(TOKEN);
  const home = await testHome({ folder });
  const { approvals, store } = home;
  await seal(home, store);
  expect(bytes()).not.toContain(TOKEN);
  expect(await store.query(approvalTables, "hasPlain", null)).toBe(false);

  const waiting = await approvals.seek(requestIn("/waits", 2));
  expect(waiting).toMatchObject({ id: "apr_waits", facts: requestIn("/waits").facts });
  expect(await act(home, requestIn("/yes"))).toBe("allowed");
  const settled = await approvals.settled(requestIn("/no"));
  expect(settled).toMatchObject({ verdict: "blocked", approval: { id: "apr_no" } });
  expect(settled?.reason).toMatch(/^denied by ann: because of .*\[redacted\]$/);
  expect(await act(home, requestIn("/always"))).toBe("allowed");
  expect(await approvals.grants.list({ tenant })).toMatchObject([
    { id: "grt_apr_always", uses: 1, arguments: requestIn("/always").facts.arguments },
  ]);
  for (const { id } of await approvals.list({ tenant }))
    if (id !== "apr_waits") expect(JSON.stringify(await approvals.get(id, tenant))).not.toContain(TOKEN);
  const changes = await approvals.changes({ after: 0, limit: 100 });
  const over = changes.filter(({ approval: { id } }) => id !== "apr_waits");
  expect(JSON.stringify(over)).not.toContain(TOKEN);
});

test("while the files cannot be written anew that is said, and done at the next start", async () => {
  const { folder, bytes } = await oldHome();
  const home = await testHome({ folder });
  const errors: unknown[] = [];
  const busy = () => Promise.reject(new StoreError("locked", "somebody reads the database"));
  const { store } = home;
  const read = { query: store.query.bind(store), commit: store.commit.bind(store), scrub: busy };
  await seal(home, read, errors);
  expect(errors).toEqual([expect.objectContaining({ code: "locked" })]);
  expect(String(errors[0])).toContain("until the next start: somebody reads the database");
  expect(await home.approvals.get("apr_waits", tenant)).toMatchObject({ facts: requestIn("/waits").facts });
  expect(bytes()).toContain(TOKEN);
  await home.close();
  const next = await testHome({ folder });
  await seal(next, next.store);
  expect(bytes()).not.toContain(TOKEN);
  expect(await next.approvals.get("apr_waits", tenant)).toMatchObject({ facts: requestIn("/waits").facts });
});
