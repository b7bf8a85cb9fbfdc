import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { approvalFor, requestOf } from "../../test/approvals/requests.ts";
import { answered, isForAlways, standing } from "./answers.ts";
import { APPROVAL_OPTIONS, type Approval, type ApprovalAnswer } from "./approval.ts";

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
  test("agree when as many people as asked for said yes before anybody said no", () => {
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
