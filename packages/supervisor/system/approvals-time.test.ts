import type { Subject } from "@reins/policy";
import { describe, expect, test } from "vitest";
import { queryApproval } from "../src/ahp/queries.ts";
import type { ApprovalChange } from "../src/approvals/approval.ts";
import type { ApprovalRequest } from "../src/approvals/request.ts";
import { approvalTables } from "../src/approvals/tables.ts";
import { checkAgreement } from "../test/approvals/agreement.ts";
import {
  act,
  requestOf as anyRequest,
  requestFor as anyRequestFor,
  subjectOf as anySubject,
  verdictDraft,
} from "../test/approvals/requests.ts";
import { scratchFolder, sharedHome, testHome } from "./fixtures/approvals-home.ts";
import { eventually } from "./fixtures/eventually.ts";

const { freshHome, tenant } = sharedHome();
const other = () => `${tenant()}-other`;
const ann = () => ({ by: "ann", roles: ["approver"], tenant: tenant(), decision: "allow_once" }) as const;
const no = () => ({ by: "bob", roles: ["approver"], tenant: tenant(), decision: "deny" }) as const;
const subjectOf = (own: Partial<Subject> = {}) => anySubject({ tenant: tenant(), ...own });
const requestOf = (own: Partial<ApprovalRequest> = {}) => anyRequest({ subject: subjectOf(), ...own });
const requestFor = (path: string, own: Partial<ApprovalRequest> = {}) =>
  anyRequestFor(path, { subject: subjectOf(), ...own });

describe("time", () => {
  test("ends a question, and a yes that was not used", async () => {
    const home = await freshHome();
    const { approvals, clock, ledger } = home;
    const asked = await approvals.seek(requestFor("/w/1", { expires_ms: 1_000 }));
    const agreed = await approvals.seek(requestFor("/w/2", { expires_ms: 2_000 }));
    const approved = await approvals.answer(agreed.id, ann());
    const use = approvals.useChange(approved);
    clock.set(new Date(Date.parse(asked.expires_at)));
    expect(await approvals.get(asked.id, tenant())).toMatchObject({ state: "expired" });
    expect(await approvals.list({ tenant: tenant(), state: "pending" })).toEqual([]);
    await expect(approvals.answer(asked.id, ann())).rejects.toThrow(/is expired already/);
    clock.set(new Date(Date.parse(agreed.expires_at)));
    const draft = verdictDraft(requestFor("/w/2"), { verdict: "allowed", reason: "", approval: approved });
    const late = ledger.record([draft], { with: [approvals.useChange(approved)] });
    await expect(late).rejects.toThrow(/its time is over/);
    expect(await approvals.settled(requestFor("/w/2"))).toBeUndefined();
    expect(await act(home, requestFor("/w/2"))).toBe("ask");
    expect(await approvals.get(agreed.id, tenant())).toMatchObject({ state: "expired" });
    await expect(ledger.record([draft], { with: [use] })).rejects.toMatchObject({ code: "conflict" });
    await checkAgreement(ledger, approvals, tenant());
  });

  test("is up at the very instant, and not before", async () => {
    const { approvals, clock } = await freshHome();
    const { id, expires_at } = await approvals.seek(requestOf({ expires_ms: 1_000 }));
    clock.set(new Date(Date.parse(expires_at) - 1));
    expect(await approvals.answer(id, ann())).toMatchObject({ state: "approved" });
    const late = await approvals.seek(requestFor("/w/late", { expires_ms: 1 }));
    clock.set(new Date(Date.parse(late.expires_at)));
    await expect(approvals.answer(late.id, ann())).rejects.toMatchObject({ code: "conflict" });
  });

  test("ends it by itself, and what has ended stays so when the clock is set back", async () => {
    const { approvals, clock } = await freshHome();
    const { id, created_at } = await approvals.seek(requestOf({ expires_ms: 200_000 }));
    const seen: string[] = [];
    approvals.subscribe(({ approval }) => seen.push(approval.state));
    for (let minute = 0; minute < 4; minute += 1) clock.advance(60_000);
    await eventually(() => expect(seen.at(-1)).toBe("expired"));
    clock.set(new Date(created_at));
    await expect(approvals.answer(id, ann())).rejects.toThrow(/is expired already/);
  });

  test("that passed while the process was down counts", async () => {
    const folder = await scratchFolder();
    const first = await testHome({ folder });
    const { id } = await first.approvals.seek(requestOf({ expires_ms: 1 }));
    await first.close();
    const second = await testHome({ folder });
    second.clock.advance(1);
    await expect(second.approvals.answer(id, ann())).rejects.toThrow(/is expired already/);
    await checkAgreement(second.ledger, second.approvals, tenant());
  });

  test("ends hundreds in one sweep", async () => {
    const { approvals, clock, ledger } = await freshHome();
    const requests = Array.from({ length: 250 }, (_, index) => requestFor(`/w/${index}`, { expires_ms: 10 }));
    await Promise.all(requests.map((request) => approvals.seek(request)));
    clock.set(new Date(clock.now().getTime() + 10));
    const swept = await Promise.all([approvals.expire(), approvals.expire()]);
    expect(swept.flat()).toHaveLength(250);
    await checkAgreement(ledger, approvals, tenant());
  });
});

describe("withdrawing", () => {
  test("takes back what a turn waits for or has not used, and nothing else", async () => {
    const home = await freshHome();
    const { approvals, ledger } = home;
    const pending = await approvals.seek(requestFor("/w/1", { turn: "t1" }));
    const approved = await approvals.seek(requestFor("/w/2", { turn: "t1" }));
    await approvals.answer(approved.id, ann());
    const otherTurn = await approvals.seek(requestFor("/w/3", { turn: "t2" }));
    const otherTenant = await approvals.seek(
      requestFor("/w/1", { turn: "t1", subject: subjectOf({ tenant: other() }) }),
    );
    const part = { tenant: tenant(), session: "s1", turn: "t1" };
    const gone = await approvals.withdraw(part, "the turn was cancelled");
    expect(gone.map(({ id, state }) => [id, state])).toEqual([
      [pending.id, "withdrawn"],
      [approved.id, "withdrawn"],
    ]);
    await expect(approvals.answer(pending.id, ann())).rejects.toThrow(/is withdrawn already/);
    expect(await act(home, requestFor("/w/2", { turn: "t1" }))).toBe("ask");
    expect(await approvals.get(otherTurn.id, tenant())).toMatchObject({ state: "pending" });
    expect(await approvals.get(otherTenant.id, other())).toMatchObject({ state: "pending" });
    expect(await approvals.withdraw({ tenant: tenant(), session: "s1" }, "it ended")).toHaveLength(2);
    await checkAgreement(ledger, approvals, tenant());
    await checkAgreement(ledger, approvals, other());
  });

  test("follows the turn that asked last", async () => {
    const { approvals } = await freshHome();
    const { id } = await approvals.seek(requestOf({ turn: "t1" }));
    expect(await approvals.seek(requestOf({ turn: "t2" }))).toMatchObject({ id, turn: "t2" });
    const session = { tenant: tenant(), session: "s1" };
    expect(await approvals.withdraw({ ...session, turn: "t1" }, "cancelled")).toEqual([]);
    expect(await approvals.withdraw({ ...session, turn: "t2" }, "cancelled")).toMatchObject([{ id }]);
  });

  test("against an answer that comes at the same time: one of them wins, for all readers", async () => {
    const { approvals, ledger } = await freshHome();
    for (let round = 0; round < 10; round += 1) {
      const { id } = await approvals.seek(requestFor(`/w/${round}`, { quorum: 2 }));
      const [, , gone] = await Promise.allSettled([
        approvals.answer(id, ann()),
        approvals.answer(id, no()),
        approvals.withdraw({ tenant: tenant(), session: "s1" }, "cancelled"),
      ]);
      expect(gone.status).toBe("fulfilled");
      expect((await approvals.get(id, tenant()))?.state).toMatch(/^(denied|withdrawn)$/);
    }
    await checkAgreement(ledger, approvals, tenant());
  });
});

describe("listing", () => {
  test("gives pages by tenant, state and session, in either order", async () => {
    const { approvals } = await freshHome();
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) ids.push((await approvals.seek(requestFor(`/w/${index}`))).id);
    await approvals.seek(requestOf({ subject: subjectOf({ session: "s2" }) }));
    await approvals.seek(requestOf({ subject: subjectOf({ tenant: other() }) }));
    const page = await approvals.list({ tenant: tenant(), session: "s1", limit: 4 });
    const rest = await approvals.list({ tenant: tenant(), session: "s1", limit: 4, after: page.at(-1)?.id });
    expect([...page, ...rest].map(({ id }) => id)).toEqual(ids);
    await approvals.answer(ids[0]!, no());
    const pending = await approvals.list({
      tenant: tenant(),
      session: "s1",
      state: "pending",
      order: "newest",
    });
    expect(pending.map(({ id }) => id)).toEqual(ids.slice(1).reverse());
    expect(await approvals.list({ tenant: tenant(), state: "denied" })).toMatchObject([{ id: ids[0] }]);
  });
});

describe("a subscriber", () => {
  test("sees every change in order, after it was committed, whatever other subscribers do", async () => {
    const errors: unknown[] = [];
    const home = await freshHome({ onError: (error) => errors.push(error) });
    const { approvals, store } = home;
    const seen: ApprovalChange[] = [];
    approvals.subscribe(() => {
      throw new Error("mine");
    });
    approvals.subscribe(async () => {
      throw new Error("mine, later");
    });
    approvals.subscribe((change) => seen.push(change));
    const leave = approvals.subscribe(() => expect.unreachable());
    leave();
    const request = requestOf({ quorum: 2 });
    const { id } = await approvals.seek(request);
    await approvals.answer(id, ann());
    await approvals.answer(id, { ...ann(), by: "bob" });
    await act(home, request);
    await eventually(() => expect(seen).toHaveLength(4));
    expect(seen.map(({ approval }) => [approval.state, approval.answers.length])).toEqual([
      ["pending", 0],
      ["pending", 1],
      ["approved", 2],
      ["used", 2],
    ]);
    expect(await approvals.changes({ tenant: tenant(), after: 0, limit: 100 })).toEqual(seen);
    expect(await approvals.changes({ after: seen[1]!.seq, limit: 1 })).toEqual([seen[2]]);
    expect(errors.map((error) => Object(error).message).sort()).toEqual([
      ...Array.from({ length: 4 }, () => "mine"),
      ...Array.from({ length: 4 }, () => "mine, later"),
    ]);
    expect(await store.query(approvalTables, "lastChange", null)).toBe(seen.at(-1)?.seq);
  });

  test("that comes later sees what comes later", async () => {
    const folder = await scratchFolder();
    const first = await testHome({ folder });
    await first.approvals.seek(requestFor("/w/before"));
    await first.close();
    const { approvals } = await testHome({ folder });
    const seen: string[] = [];
    approvals.subscribe(({ approval }) => seen.push(approval.id));
    const many = Array.from({ length: 300 }, (_, index) =>
      approvals.seek(requestOf({ subject: subjectOf({ session: `s${index}` }) })),
    );
    const asked = await Promise.all(many);
    await eventually(() => expect(seen).toHaveLength(300));
    expect(new Set(seen)).toEqual(new Set(asked.map(({ id }) => id)));
  });
});

describe("retention", () => {
  test("forgets what ended long ago, and neither what is open nor what the ledger has", async () => {
    const folder = await scratchFolder();
    const { approvals, clock, ledger } = await testHome({ folder });
    const home = { approvals, ledger };
    const [used, denied, expired, withdrawn] = [
      await approvals.seek(requestFor("/w/used")),
      await approvals.seek(requestFor("/w/denied")),
      await approvals.seek(requestFor("/w/expired", { expires_ms: 1_000 })),
      await approvals.seek(requestFor("/w/withdrawn", { subject: subjectOf({ session: "gone" }) })),
    ];
    await approvals.answer(used.id, ann());
    expect(await act(home, requestFor("/w/used"))).toBe("allowed");
    await approvals.answer(denied.id, no());
    await approvals.withdraw({ tenant: tenant(), session: "gone" }, "over");
    const open = await approvals.seek(requestFor("/w/open", { expires_ms: 90 * 86_400_000 }));
    const agreed = await approvals.seek(requestFor("/w/agreed", { expires_ms: 90 * 86_400_000 }));
    await approvals.answer(agreed.id, ann());
    const entries = (await ledger.read({ quality: "approval", limit: 1_000 })).length;
    clock.set(new Date(clock.now().getTime() + 30 * 86_400_000));
    await approvals.expire();
    const states = async () => (await approvals.list({ tenant: tenant() })).map(({ id }) => id);
    // A no counts until the question would have been over.
    expect(await approvals.prune(new Date(Date.parse(denied.created_at) + 1_000))).toBe(0);
    expect(await approvals.prune(new Date(clock.now().getTime() - 86_400_000))).toBe(3);
    expect(await states()).toEqual([expired.id, open.id, agreed.id]);
    expect(await approvals.prune(clock.now())).toBe(0);
    expect((await ledger.read({ quality: "approval", limit: 1_000 })).length).toBe(entries + 1);
    for (const { id } of [used, denied, withdrawn]) expect(await approvals.get(id, tenant())).toBeUndefined();
    const next = await approvals.seek(requestFor("/w/next"));
    const changes = await approvals.changes({ tenant: tenant(), after: 0, limit: 100 });
    expect(changes.at(-1)).toMatchObject({ approval: { id: next.id } });
    expect(changes.map(({ seq }) => seq)).toEqual(changes.map(({ seq }) => seq).toSorted((a, b) => a - b));
  });
});

describe("an agent that asks over AHP", () => {
  test("gets the approvals of its own session, by id or all of them, and of no other", async () => {
    const { approvals } = await freshHome();
    const { id } = await approvals.seek(requestOf());
    await approvals.answer(id, { ...no(), note: "never" });
    const elsewhere = await approvals.seek(requestOf({ subject: subjectOf({ session: "s2" }) }));
    const who = { tenant: tenant(), user: "ann", session: "s1" };
    const byId = await queryApproval(approvals, { ...who, payload: { approval: id } });
    expect(byId).toMatchObject({
      answer: { approval: id, escalation_target: `approval:${id}`, state: "denied", note: "never" },
      reason: expect.stringContaining("said no"),
    });
    expect(await queryApproval(approvals, { ...who, payload: { approval: `approval:${id}` } })).toEqual(byId);
    const all = await queryApproval(approvals, { ...who, payload: null });
    expect(all).toEqual({ answer: { approvals: [byId.answer] } });
    for (const asked of [
      { ...who, payload: { approval: elsewhere.id } },
      { ...who, tenant: other(), payload: { approval: id } },
      { ...who, user: "eve", payload: { approval: id } },
      { ...who, payload: { approval: "apr_nowhere" } },
    ]) {
      const told = await queryApproval(approvals, asked);
      expect(told).toEqual({ answer: null, reason: "there is no such approval" });
    }
  });
});
