import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { approvalFor, requestOf } from "../../test/approvals/requests.ts";
import {
  answered,
  answeredDraft,
  askedDraft,
  endedDraft,
  isForAlways,
  revokedDraft,
  settledBy,
  standing,
} from "./answers.ts";
import { APPROVAL_OPTIONS, APPROVAL_STATES, type Approval, type ApprovalAnswer } from "./approval.ts";
import type { Grant } from "./grants.ts";

const now = new Date("2026-11-15T09:00:00.000Z");
const at = now.toISOString();

function approvalOf(own: Partial<Approval> = {}): Approval {
  return approvalFor(requestOf(), now, own);
}

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return Object(error).code;
  }
  return undefined;
}

const answers = fc.record({
  by: fc.constantFrom("a", "b", "c", "d"),
  decision: fc.constantFrom(...APPROVAL_OPTIONS),
  at: fc.constant(at),
});

describe("any number of answers", () => {
  test("agree when as many people as asked for said yes before a no", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(answers), (quorum, given) => {
        let approval = approvalOf({ quorum });
        const counted: ApprovalAnswer[] = [];
        for (const answer of given) {
          const late = approval.state !== "pending" || counted.some(({ by }) => by === answer.by);
          const before = approval;
          const refused = refusal(() => {
            approval = answered(approval, answer);
          });
          expect(refused).toBe(late ? "conflict" : undefined);
          if (late) expect(approval).toBe(before);
          else counted.push(answer);
        }
        const denied = counted.some(({ decision }) => decision === "deny");
        const agreed = !denied && counted.length === quorum;
        expect(approval.answers).toEqual(counted);
        expect(approval.state).toBe(denied ? "denied" : agreed ? "approved" : "pending");
        const always = counted.every(({ decision }) => decision === "allow_always");
        expect(isForAlways(approval)).toBe(agreed && always);
      }),
    );
  });
});

describe("an answer", () => {
  test.each(["approved", "denied", "expired", "withdrawn", "used"] as const)("is late once %s", (state) => {
    const approval = approvalOf({ state, answers: [{ by: "ann", decision: "deny", at }] });
    const answer = () => answered(approval, { by: "bob", decision: "deny", at });
    expect(answer).toThrow(`the approval apr_x is ${state} already: ann said deny at ${at}`);
    expect(refusal(answer)).toBe("conflict");
  });

  test("is late from the instant the question is over", () => {
    const approval = approvalOf();
    const late = { by: "bob", decision: "deny", at: approval.expires_at } as const;
    expect(refusal(() => answered(approval, late))).toBe("conflict");
    const justInTime = new Date(Date.parse(approval.expires_at) - 1).toISOString();
    expect(answered(approval, { ...late, at: justInTime }).state).toBe("denied");
  });

  test("is one on offer, with a note that can be read", () => {
    const approval = approvalOf({ options: ["deny"] });
    expect(refusal(() => answered(approval, { by: "bob", decision: "allow_once", at }))).toBe("invalid");
    for (const note of ["x".repeat(4_097), "\ud800"])
      expect(refusal(() => answered(approval, { by: "bob", decision: "deny", note, at }))).toBe("invalid");
  });
});

test("an approval without answers describes only its state", () => {
  expect(standing(approvalOf({ state: "withdrawn" }))).toBe("the approval apr_x is withdrawn already");
});

const yes = { by: "bob", decision: "allow_once", at } as const;
const no = { by: "carl", decision: "deny", at, note: "too risky" } as const;
const grant = {
  ...{ id: "grt_1", tenant: "acme", user: "ann", agent: "reed", tool: "edit", binding: "cd34".repeat(16) },
  ...{ by: ["bob"], approval: "apr_0", uses: 0, created_at: at },
} as unknown as Grant;

describe("what is settled", () => {
  test.each([
    ["a yes", { state: "approved", answers: [yes] }, "t1", ["allowed", "approved by bob"]],
    [
      "a no, for the turn that asked",
      { state: "denied", answers: [no], turn: "t1" },
      "t1",
      ["blocked", "denied by carl: too risky"],
    ],
    [
      "a no, where turns are not known",
      { state: "denied", answers: [no], turn: "t1" },
      undefined,
      ["blocked", "denied by carl: too risky"],
    ],
    ["nothing by a no of an earlier turn", { state: "denied", answers: [no], turn: "t0" }, "t1", undefined],
    ["nothing by an open question", { state: "pending" }, "t1", undefined],
    ["nothing by a yes that was used", { state: "used", answers: [yes] }, "t1", undefined],
    ["nothing by what was withdrawn", { state: "withdrawn" }, "t1", undefined],
    ["nothing by a yes that is over", { state: "approved", answers: [yes], expires_at: at }, "t1", undefined],
    ["nothing by a no that is over", { state: "denied", answers: [no], expires_at: at }, "t1", undefined],
  ] as const)("is %s", (_, own, turn, expected) => {
    const settled = settledBy(approvalOf(own), undefined, turn, now);
    expect(settled && [settled.verdict, settled.reason]).toEqual(expected);
  });

  test.each(APPROVAL_STATES)(
    "by a grant counts beside an approval that is %s, unless that settles it",
    (state) => {
      const settled = settledBy(approvalOf({ state, answers: [no] }), grant, undefined, now);
      const isSettled = state === "approved" || state === "denied";
      expect(settled?.grant).toBe(isSettled ? undefined : grant);
      if (!isSettled) expect(settled?.reason).toBe("always allowed by bob (grt_1)");
    },
  );

  test("is nothing without an approval or a grant", () => {
    expect(settledBy(undefined, undefined, "t1", now)).toBeUndefined();
  });
});

describe("the entry of an approval", () => {
  const payloadOf = (draft: { readonly payload: unknown }) => Object(draft.payload);

  test("that was asked names who asks for what and whose agreement it takes, and not the facts", () => {
    const own = { turn: "t1", approvers: ["lead"], four_eyes: true, quorum: 2 };
    const draft = askedDraft(approvalOf(own), "f00d");
    expect(draft).toMatchObject({
      quality: "approval",
      actor: "reins:system",
      target: "edit",
      entity_id: "acme/reed:ahp:s1",
      tags: ["approval", "approval:apr_x"],
    });
    expect(draft.payload).toMatchObject({ ...own, facts_hash: "f00d", state: "pending", user: "ann" });
    expect(payloadOf(draft).facts).toBeUndefined();
  });

  test("that was answered is the person's, and names the grant that came of it", () => {
    const approval = approvalOf({ state: "approved", answers: [yes] });
    const draft = answeredDraft(approval, yes, { facts_hash: "f00d", grant });
    expect(draft.actor).toBe("bob");
    expect(draft.tags).toEqual(["approval", "approval:apr_x", "grant:grt_1"]);
    expect(draft.payload).toMatchObject({
      answer: yes,
      state: "approved",
      grant: { id: "grt_1", expires_at: null },
    });
    const plain = answeredDraft(approval, yes, { facts_hash: undefined, grant: undefined });
    expect(payloadOf(plain)).not.toHaveProperty("grant");
    expect(payloadOf(plain)).not.toHaveProperty("facts_hash");
  });

  test("that ended says why, and that of a grant who revoked it", () => {
    const ended = endedDraft(approvalOf({ state: "expired" }), "not answered in time");
    expect(ended).toMatchObject({
      actor: "reins:system",
      payload: { state: "expired", reason: "not answered in time" },
    });
    expect(revokedDraft(grant, "ann", "no longer needed")).toMatchObject({
      actor: "ann",
      tags: ["grant", "grant:grt_1"],
      payload: { grant: "grt_1", state: "revoked", reason: "no longer needed" },
    });
  });
});
