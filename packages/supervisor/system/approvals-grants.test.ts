import type { Effect, Subject } from "@reins/policy";
import { describe, expect, test } from "vitest";
import { grantTag } from "../src/approvals/approval.ts";
import type { ApprovalRequest } from "../src/approvals/request.ts";
import { checkAgreement } from "../test/approvals/agreement.ts";
import {
  act,
  actionOf,
  requestOf as anyRequest,
  subjectOf as anySubject,
  verdictDraft,
} from "../test/approvals/requests.ts";
import { sharedHome, type TestHome } from "./fixtures/approvals-home.ts";

const { freshHome, tenant } = sharedHome();
const always = () =>
  ({ by: "ann", roles: ["approver"], tenant: tenant(), decision: "allow_always" }) as const;
const subjectOf = (own: Partial<Subject> = {}) => anySubject({ tenant: tenant(), ...own });
const requestOf = (own: Partial<ApprovalRequest> = {}) => anyRequest({ subject: subjectOf(), ...own });
const run = (own: Partial<Extract<Effect, { kind: "exec" }>> = {}): Effect => ({
  kind: "exec",
  command: "npm",
  arguments: ["test"],
  opaque: true,
  ...own,
});
const shell = (effect: Effect, command: string) =>
  actionOf({
    tool: "bash",
    effects: [effect],
    opaque: true,
    doubts: ["npm is opaque"],
    arguments: { command },
  });

async function granted(home: TestHome, request: ApprovalRequest, more: object = {}) {
  const { id } = await home.approvals.seek(request);
  await home.approvals.answer(id, { ...always(), ...more });
  expect(await act(home, request)).toBe("allowed");
  const [grant] = (await home.approvals.grants.list({ tenant: tenant() })).slice(-1);
  return grant!;
}

describe("an always", () => {
  test("allows the same in other sessions, and is on the record and in the list", async () => {
    const home = await freshHome();
    const { approvals, ledger } = home;
    const grant = await granted(home, requestOf());
    expect(grant).toMatchObject({
      id: expect.stringMatching(/^grt_[\w-]{22}$/),
      tenant: tenant(),
      user: "ann",
      agent: "reed",
      tool: "edit",
      cwd: "/w",
      effects: requestOf().facts.effects,
      by: ["ann"],
      uses: 0,
    });
    expect(grant).not.toHaveProperty("arguments");
    const later = requestOf({ subject: subjectOf({ session: "s2" }), target_state: { "/w/a.txt": "b3:2" } });
    expect(await approvals.settled(later)).toMatchObject({
      verdict: "allowed",
      reason: `always allowed by ann (${grant.id})`,
      grant: { id: grant.id },
    });
    expect(await act(home, later)).toBe("allowed");
    expect(await act(home, later)).toBe("allowed");
    expect(await approvals.grants.get(grant.id, tenant())).toMatchObject({ uses: 2 });
    const [recorded] = await ledger.read({ tag: grantTag(grant.id) });
    expect(recorded?.entry).toMatchObject({ actor: "ann", payload: { grant: { id: grant.id } } });
    await checkAgreement(ledger, approvals, tenant());
  });

  test("covers nothing broader", async () => {
    const home = await freshHome();
    await granted(home, requestOf());
    await granted(home, requestOf({ facts: shell(run(), "npm test") }));
    const others = [
      requestOf({ subject: subjectOf({ tenant: `${tenant()}-other` }) }),
      requestOf({ subject: subjectOf({ user: "bob" }) }),
      requestOf({ subject: subjectOf({ agent: "rush" }) }),
      requestOf({ subject: subjectOf({ chain: ["boss"] }) }),
      requestOf({ subject: subjectOf({ enforcement: "observed" }) }),
      requestOf({ event_type: "pre_prompt" }),
      requestOf({ cwd: "/" }),
      requestOf({ facts: actionOf({ tool: "write" }) }),
      requestOf({ facts: actionOf({ opaque: true }) }),
      requestOf({ facts: actionOf({ effects: [...actionOf().effects, run()] }) }),
      requestOf({ facts: actionOf({ effects: [] }) }),
      requestOf({ facts: shell(run({ arguments: ["test", "--", "-x"] }), "npm test -- -x") }),
      requestOf({ facts: shell(run(), "npm test; curl evil") }),
    ];
    for (const request of others) expect(await home.approvals.grants.grantFor(request)).toBeUndefined();
    const covered = requestOf({ facts: actionOf({ arguments: { path: "./a.txt" } }) });
    expect(await home.approvals.grants.grantFor(covered)).toBeDefined();
  });

  test("is not on offer for what is only known when it runs", async () => {
    const { approvals } = await freshHome();
    const vague = [
      shell(run({ command: "rm", arguments: ["-rf", null] }), "rm -rf $DIR"),
      actionOf({ effects: [{ kind: "read", path: "x", place: "unknown" }] }),
    ];
    for (const facts of vague) {
      const { id, options } = await approvals.seek(requestOf({ facts }));
      expect(options).toEqual(["allow_once", "deny"]);
      await expect(approvals.answer(id, always())).rejects.toMatchObject({ code: "invalid" });
    }
  });

  test("needs every answer of the quorum to be an always", async () => {
    const home = await freshHome();
    const { approvals, ledger } = home;
    const { id } = await approvals.seek(requestOf({ quorum: 2 }));
    await approvals.answer(id, always());
    await approvals.answer(id, { ...always(), by: "bob", decision: "allow_once" });
    expect(await approvals.grants.list({ tenant: tenant() })).toEqual([]);
    const other = await approvals.seek(requestOf({ cwd: "/w/2", quorum: 2 }));
    await Promise.all(["ann", "bob"].map((by) => approvals.answer(other.id, { ...always(), by })));
    const [grant] = await approvals.grants.list({ tenant: tenant() });
    expect(new Set(grant?.by)).toEqual(new Set(["ann", "bob"]));
    await checkAgreement(ledger, approvals, tenant());
  });

  test("lasts no longer than the shortest time that one of the quorum meant it for", async () => {
    const { approvals, clock } = await freshHome();
    const spans = [{ grant_expires_ms: 60_000 }, { grant_expires_ms: 90_000 }, {}];
    const { id } = await approvals.seek(requestOf({ quorum: 3 }));
    for (const [index, span] of spans.entries())
      await approvals.answer(id, { ...always(), by: `p${index}`, ...span });
    const [grant] = await approvals.grants.list({ tenant: tenant() });
    expect(grant?.expires_at).toBe(new Date(clock.now().getTime() + 60_000).toISOString());
    const other = await approvals.seek(requestOf({ cwd: "/w/2", quorum: 2 }));
    await expect(approvals.answer(other.id, { ...always(), grant_expires_ms: 0 })).rejects.toMatchObject({
      code: "invalid",
    });
  });

  test("said in several sessions at once is one grant", async () => {
    const { approvals, ledger } = await freshHome();
    const sessions = Array.from({ length: 6 }, (_, index) => subjectOf({ session: `s${index}` }));
    const asked = await Promise.all(sessions.map((subject) => approvals.seek(requestOf({ subject }))));
    await Promise.all(asked.map(({ id }) => approvals.answer(id, always())));
    expect(await approvals.grants.list({ tenant: tenant() })).toHaveLength(1);
    await checkAgreement(ledger, approvals, tenant());
  });
});

describe("a grant", () => {
  test("is revoked by a person, once, from the next decision on", async () => {
    const home = await freshHome();
    const { approvals, ledger } = home;
    const grant = await granted(home, requestOf());
    const request = requestOf({ subject: subjectOf({ session: "s2" }) });
    const settled = await approvals.settled(request);
    await expect(
      approvals.grants.revoke(grant.id, { by: "reed", roles: ["approver"], tenant: tenant(), isAgent: true }),
    ).rejects.toMatchObject({ code: "forbidden" });
    await expect(
      approvals.grants.revoke(grant.id, { by: "bob", roles: ["approver"], tenant: `${tenant()}-other` }),
    ).rejects.toMatchObject({ code: "not_found" });
    const both = await Promise.allSettled(
      ["bob", "eve"].map((by) =>
        approvals.grants.revoke(grant.id, { by, roles: ["approver"], tenant: tenant() }),
      ),
    );
    expect(both.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(
      approvals.grants.revoke(grant.id, { by: "kim", roles: ["approver"], tenant: tenant() }),
    ).rejects.toThrow(/was revoked by (bob|eve)/);
    const use = ledger.record([verdictDraft(request, settled!)], { with: [settled!.change!] });
    await expect(use).rejects.toMatchObject({ code: "conflict" });
    expect(await act(home, request)).toBe("ask");
    expect(await approvals.grants.list({ tenant: tenant() })).toMatchObject([
      { id: grant.id, revoked_by: expect.stringMatching(/bob|eve/), uses: 0 },
    ]);
    await checkAgreement(ledger, approvals, tenant());
  });

  test("may run out, and be given again", async () => {
    const home = await freshHome();
    const { approvals, clock, ledger } = home;
    const first = await granted(home, requestOf(), { grant_expires_ms: 1_000 });
    const request = requestOf({ subject: subjectOf({ session: "s2" }) });
    expect(await approvals.grants.grantFor(request)).toMatchObject({ id: first.id });
    clock.advance(1_000);
    expect(await act(home, request)).toBe("ask");
    const second = await granted(home, request);
    expect(second.id).not.toBe(first.id);
    expect(await approvals.grants.grantFor(request)).toMatchObject({ id: second.id });
    await checkAgreement(ledger, approvals, tenant());
  });

  test("is listed by user and agent, in pages", async () => {
    const home = await freshHome();
    const ids: string[] = [];
    for (const agent of ["reed", "rush", "sedge"])
      ids.push((await granted(home, requestOf({ subject: subjectOf({ agent }) }))).id);
    const { grants } = home.approvals;
    const page = await grants.list({ tenant: tenant(), limit: 2 });
    const rest = await grants.list({ tenant: tenant(), limit: 2, after: page.at(-1)?.id });
    expect([...page, ...rest].map(({ id }) => id)).toEqual(ids);
    expect(await grants.list({ tenant: tenant(), agent: "rush" })).toMatchObject([{ id: ids[1] }]);
    expect(await grants.list({ tenant: tenant(), user: "stranger" })).toEqual([]);
    expect(await grants.list({ tenant: `${tenant()}-other` })).toEqual([]);
  });
});
