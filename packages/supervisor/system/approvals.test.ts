import { buildEntry, SYSTEM, verifySignature } from "@reins/ledger";
import type { Subject } from "@reins/policy";
import { change } from "@reins/store";
import { describe, expect, test } from "vitest";
import { approvalTag } from "../src/approvals/approval.ts";
import { type ApprovalRequest, bindingOf, factsHash } from "../src/approvals/request.ts";
import { approvalTables } from "../src/approvals/tables.ts";
import { checkAgreement } from "../test/approvals/agreement.ts";
import {
  act,
  actionOf,
  requestOf as anyRequest,
  requestFor as anyRequestFor,
  subjectOf as anySubject,
  verdictDraft,
} from "../test/approvals/requests.ts";
import { scratchFolder, sharedHome, testHome } from "./fixtures/approvals-home.ts";

const { freshHome, tenant } = sharedHome();
const other = () => `${tenant()}-other`;
const ann = () => ({ by: "ann", roles: ["approver"], tenant: tenant(), decision: "allow_once" }) as const;
const no = () => ({ by: "bob", roles: ["approver"], tenant: tenant(), decision: "deny" }) as const;
const subjectOf = (own: Partial<Subject> = {}) => anySubject({ tenant: tenant(), ...own });
const requestOf = (own: Partial<ApprovalRequest> = {}) => anyRequest({ subject: subjectOf(), ...own });
const requestFor = (path: string, own: Partial<ApprovalRequest> = {}) =>
  anyRequestFor(path, { subject: subjectOf(), ...own });

describe("a question", () => {
  test("is a row and a signed entry of the system, bound to exactly what is asked", async () => {
    const { approvals, ledger, commitment } = await freshHome();
    const request = requestOf({ turn: "t1", quorum: 2, expires_ms: 60_000 });
    const approval = await approvals.seek(request);
    expect(approval).toMatchObject({
      id: expect.stringMatching(/^apr_[\w-]{22}$/),
      state: "pending",
      tenant: tenant(),
      user: "ann",
      agent: "reed",
      session: "s1",
      turn: "t1",
      tool: "edit",
      facts: request.facts,
      binding: bindingOf(request, commitment),
      quorum: 2,
      options: ["allow_once", "allow_always", "deny"],
      answers: [],
      created_at: "2026-11-15T09:00:00.000Z",
      expires_at: "2026-11-15T09:01:00.000Z",
    });
    expect(await approvals.get(approval.id, tenant())).toEqual(approval);
    const placed = await ledger.get(approval.entry);
    expect(placed?.entry).toMatchObject({
      quality: "approval",
      actor: SYSTEM,
      entity_id: `${tenant()}/reed:ahp:s1`,
      tags: ["approval", approvalTag(approval.id)],
      payload: {
        approval: approval.id,
        state: "pending",
        binding: approval.binding,
        facts_hash: factsHash(request.facts, commitment),
        rule: "ask about edits",
        reason: "edits are asked about",
        expires_at: approval.expires_at,
      },
    });
    await checkAgreement(ledger, approvals, tenant());
  });

  test("that is open is not put twice, not even at the same time", async () => {
    const { approvals, ledger } = await freshHome();
    const all = await Promise.all(Array.from({ length: 20 }, () => approvals.seek(requestOf())));
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(await ledger.read({ tag: approvalTag(all[0]!.id) })).toHaveLength(1);
    const claimed = requestOf({ facts: actionOf({ claims: { title: "harmless", kind: "read" } }) });
    expect((await approvals.seek(claimed)).id).toBe(all[0]?.id);
    await checkAgreement(ledger, approvals, tenant());
  });

  test("is another one when anything it is bound to differs", async () => {
    const { approvals } = await freshHome();
    const requests = [
      requestOf(),
      requestOf({ subject: subjectOf({ tenant: other() }) }),
      requestOf({ subject: subjectOf({ user: "bob" }) }),
      requestOf({ subject: subjectOf({ agent: "rush" }) }),
      requestOf({ subject: subjectOf({ session: "s2" }) }),
      requestOf({ event_type: "pre_prompt" }),
      requestOf({ facts: actionOf({ tool: "write" }) }),
      requestOf({ facts: actionOf({ arguments: { path: "a.txt", force: true } }) }),
      requestOf({ cwd: "/w/sub" }),
      requestOf({ target_state: { "/w/a.txt": "b3:1" } }),
    ];
    const asked = await Promise.all(requests.map((request) => approvals.seek(request)));
    expect(new Set(asked.map(({ id }) => id)).size).toBe(requests.length);
    expect(new Set(asked.map(({ binding }) => binding)).size).toBe(requests.length);
  });

  test("that no person could read or answer is rejected", async () => {
    const { approvals } = await freshHome();
    const refused = [
      requestOf({ facts: actionOf({ arguments: "x".repeat(2 ** 20) }) }),
      requestOf({ quorum: 0 }),
      requestOf({ quorum: 1.5 }),
      requestOf({ expires_ms: 0 }),
      requestOf({ expires_ms: Number.NaN }),
    ];
    for (const request of refused)
      await expect(approvals.seek(request)).rejects.toMatchObject({ code: "invalid" });
    await expect(approvals.seek(requestOf({ facts: actionOf({ arguments: "\ud800" }) }))).rejects.toThrow();
    expect(await approvals.list({ tenant: tenant() })).toEqual([]);
  });

  test("does not drown people: a session has only so many open", async () => {
    const { approvals, ledger } = await freshHome({ maxOpen: 3 });
    const asked = await Promise.allSettled(
      Array.from({ length: 5 }, (_, index) => approvals.seek(requestFor(`/w/${index}`))),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    await approvals.seek(requestOf({ subject: subjectOf({ session: "s2" }) }));
    await checkAgreement(ledger, approvals, tenant());
  });
});

describe("an answer", () => {
  test("is the person's: signed with their key, in one commit with the state", async () => {
    const { approvals, ledger } = await freshHome();
    const { id } = await approvals.seek(requestOf());
    const approval = await approvals.answer(id, { ...ann(), note: "go on" });
    expect(approval).toMatchObject({
      state: "approved",
      answers: [{ by: "ann", decision: "allow_once", note: "go on", at: "2026-11-15T09:00:00.000Z" }],
    });
    expect(await approvals.get(id, tenant())).toEqual(approval);
    const recorded = await ledger.read({ actor: "ann", tag: approvalTag(id) });
    const [entry] = recorded.map((placed) => placed.entry);
    expect(entry?.payload).toMatchObject({ approval: id, state: "approved", answer: { by: "ann" } });
    const { cid: _, proof, ...rest } = entry!;
    const unsigned = buildEntry({ ...rest, proof: null }).body;
    const keys = (await ledger.read({ tag: "key" })).map((placed) => Object(placed.entry.payload));
    const payload = keys.find(({ holder }) => holder === "ann");
    expect(payload).toMatchObject({ key_id: Object(proof).key_id });
    const signature = Buffer.from(Object(proof).signature, "base64");
    const publicKey = Buffer.from(payload.public_key, "base64");
    expect(verifySignature(publicKey, Buffer.from(unsigned), signature)).toBe(true);
  });

  test("counts once: a second, late or replayed one is a conflict that says who was first", async () => {
    const { approvals, ledger } = await freshHome();
    const { id } = await approvals.seek(requestOf());
    await approvals.answer(id, no());
    const before = await ledger.size();
    for (const answer of [ann(), no(), { ...ann(), by: "eve" }]) {
      const refused = approvals.answer(id, answer);
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      await expect(refused).rejects.toThrow(/is denied already: bob said deny at 2026-11-15T09:00/);
    }
    expect(await ledger.size()).toBe(before);
    await checkAgreement(ledger, approvals, tenant());
  });

  test("wins alone when many come at once", async () => {
    const { approvals, ledger } = await freshHome();
    const people = Array.from({ length: 16 }, (_, index) => `person-${index}`);
    for (let round = 0; round < 5; round += 1) {
      const { id } = await approvals.seek(requestFor(`/w/${round}`));
      const answers = await Promise.allSettled(
        people.map((by, index) => approvals.answer(id, { ...(index % 2 === 0 ? ann() : no()), by })),
      );
      const won = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
      expect(won).toHaveLength(1);
      expect(await approvals.get(id, tenant())).toEqual(won[0]);
      for (const answer of answers)
        if (answer.status === "rejected") expect(answer.reason).toMatchObject({ code: "conflict" });
    }
    await checkAgreement(ledger, approvals, tenant());
  });

  test("to what is not there, or is another tenant's, does not say which", async () => {
    const { approvals } = await freshHome();
    const { id } = await approvals.seek(requestOf());
    const messages = await Promise.all(
      [
        approvals.answer(id, { ...ann(), tenant: other() }),
        approvals.answer(id.replace(/.$/, "_"), ann()),
      ].map((answer) => answer.catch((error) => [error.code, error.message.replaceAll(/apr_\S+/g, "ID")])),
    );
    expect(messages).toEqual([
      ["not_found", "there is no approval ID"],
      ["not_found", "there is no approval ID"],
    ]);
    expect(await approvals.get(id, other())).toBeUndefined();
    expect(await approvals.list({ tenant: other() })).toEqual([]);
  });

  test("is never an agent's, nor the harness's own", async () => {
    const { approvals } = await freshHome();
    const { id } = await approvals.seek(requestOf({ subject: subjectOf({ chain: ["boss"] }) }));
    for (const by of ["reed", "boss", "reins:system", "reins:log", ""])
      await expect(approvals.answer(id, { ...ann(), by })).rejects.toMatchObject({ code: "forbidden" });
    await expect(approvals.answer(id, { ...ann(), isAgent: true })).rejects.toMatchObject({
      code: "forbidden",
    });
    await expect(approvals.answer("apr_nowhere", { ...ann(), isAgent: true })).rejects.toMatchObject({
      code: "forbidden",
    });
    expect(await approvals.get(id, tenant())).toMatchObject({ state: "pending", answers: [] });
  });

  test("is one of those on offer", async () => {
    const { approvals } = await freshHome();
    const { id } = await approvals.seek(requestOf({ options: ["allow_once"] }));
    await expect(approvals.answer(id, { ...ann(), decision: "allow_always" })).rejects.toMatchObject({
      code: "invalid",
    });
    await expect(approvals.answer(id, { ...ann(), note: "x".repeat(5_000) })).rejects.toMatchObject({
      code: "invalid",
    });
    expect(await approvals.answer(id, ann())).toMatchObject({ state: "approved" });
  });
});

describe("a quorum", () => {
  test("is of different people; one no ends it", async () => {
    const { approvals, ledger } = await freshHome();
    const { id } = await approvals.seek(requestOf({ quorum: 3 }));
    expect(await approvals.answer(id, ann())).toMatchObject({ state: "pending" });
    await expect(approvals.answer(id, ann())).rejects.toMatchObject({ code: "conflict" });
    expect(await approvals.answer(id, { ...ann(), by: "eve" })).toMatchObject({ state: "pending" });
    expect(await approvals.answer(id, { ...ann(), by: "kim" })).toMatchObject({ state: "approved" });
    const second = await approvals.seek(requestFor("/w/other", { quorum: 3 }));
    await approvals.answer(second.id, ann());
    expect(await approvals.answer(second.id, no())).toMatchObject({ state: "denied" });
    await checkAgreement(ledger, approvals, tenant());
  });

  test("is reached exactly when all answer at once", async () => {
    const { approvals, ledger } = await freshHome();
    const { id } = await approvals.seek(requestOf({ quorum: 4 }));
    const people = ["a", "b", "c", "d", "e", "f", "a", "b"];
    const answers = await Promise.allSettled(people.map((by) => approvals.answer(id, { ...ann(), by })));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
    const approval = await approvals.get(id, tenant());
    expect(approval?.state).toBe("approved");
    expect(new Set(approval?.answers.map(({ by }) => by)).size).toBe(4);
    await checkAgreement(ledger, approvals, tenant());
  });
});

describe("a yes", () => {
  test("is used once, however many callers come at once", async () => {
    const home = await freshHome();
    const { approvals, ledger } = home;
    const request = requestOf();
    const { id } = await approvals.seek(request);
    expect(await approvals.settled(request)).toBeUndefined();
    await approvals.answer(id, ann());
    expect(await approvals.settled(requestOf({ subject: subjectOf({ tenant: other() }) }))).toBeUndefined();
    expect(await approvals.settled(request)).toMatchObject({ approval: { id } });
    const settled = await Promise.all(Array.from({ length: 10 }, () => approvals.settled(request)));
    const uses = await Promise.allSettled(
      settled.map((one) => ledger.record([verdictDraft(request, one!)], { with: [one!.change!] })),
    );
    expect(uses.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const use of uses) if (use.status === "rejected") expect(use.reason.code).toBe("conflict");
    const verdicts = await ledger.read({ quality: "policy_verdict", tag: approvalTag(id) });
    expect(verdicts).toHaveLength(1);
    expect(await approvals.settled(request)).toBeUndefined();
    expect(await approvals.get(id, tenant())).toMatchObject({ state: "used" });
    await expect(approvals.answer(id, ann())).rejects.toThrow(/is used already: ann said allow_once/);
    expect(await act(home, request)).toBe("ask");
    await checkAgreement(ledger, approvals, tenant());
  });

  test("given while no caller waited is kept for the same action, across restarts", async () => {
    const folder = await scratchFolder();
    const first = await testHome({ folder });
    const request = requestOf();
    expect(await act(first, request)).toBe("ask");
    await first.close();
    const second = await testHome({ folder });
    const [pending] = await second.approvals.list({ tenant: tenant(), state: "pending" });
    await second.approvals.answer(pending!.id, ann());
    await second.close();
    const third = await testHome({ folder });
    expect((await third.approvals.seek(request)).id).toBe(pending!.id);
    expect(await act(third, requestOf({ cwd: "/elsewhere" }))).toBe("ask");
    expect(await act(third, request)).toBe("allowed");
    expect(await act(third, request)).toBe("ask");
    await checkAgreement(third.ledger, third.approvals, tenant());
  });

  test("is not used without a verdict on the record", async () => {
    const { approvals, store, ledger } = await freshHome();
    const request = requestOf();
    const { id } = await approvals.seek(request);
    const approval = await approvals.answer(id, ann());
    const use = approvals.useChange(approval);
    await expect(store.commit([use])).rejects.toThrow(/needs the tag approval:apr_/);
    const draft = verdictDraft(request, { verdict: "allowed", reason: "" });
    await expect(ledger.record([draft], { with: [use] })).rejects.toThrow(/needs the tag/);
    const asks = {
      ...verdictDraft(request, { verdict: "allowed", reason: "", approval }),
      payload: { verdict: "ask" },
    };
    await expect(ledger.record([asks], { with: [use] })).rejects.toThrow(/no entry of this commit/);
    const notice = { at: "2026-11-15T09:00:00.000Z", webhooks: [] };
    const move = { id, version: 0, state: "denied", answers: [], notice } as const;
    await expect(store.commit([change(approvalTables, "move", move)])).rejects.toThrow(
      /changed concurrently/,
    );
    expect(await approvals.get(id, tenant())).toMatchObject({ state: "approved" });
    await checkAgreement(ledger, approvals, tenant());
  });
});

describe("a no", () => {
  test("blocks the same action for its turn, and is asked about again in the next", async () => {
    const home = await freshHome();
    const request = requestOf({ turn: "t1" });
    const { id } = await home.approvals.seek(request);
    await home.approvals.answer(id, { ...no(), note: "not that file" });
    expect(await home.approvals.settled(request)).toMatchObject({
      verdict: "blocked",
      reason: "denied by bob: not that file",
      approval: { id },
    });
    expect(await act(home, request)).toBe("blocked");
    expect(await act(home, request)).toBe("blocked");
    expect(await act(home, requestOf({ turn: "t2" }))).toBe("ask");
    await checkAgreement(home.ledger, home.approvals, tenant());
  });

  test("blocks until the question would be over where turns are not known", async () => {
    const home = await freshHome();
    const request = requestOf({ expires_ms: 1_000 });
    const { id } = await home.approvals.seek(request);
    await home.approvals.answer(id, no());
    expect(await act(home, request)).toBe("blocked");
    home.clock.advance(1_000);
    expect(await act(home, request)).toBe("ask");
  });
});
