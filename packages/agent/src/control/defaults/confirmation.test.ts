import { describe, expect, it } from "vitest";
import type { ConfirmationType } from "../events.ts";
import { decideConfirmation } from "./confirmation.ts";

const decide = (confirmation_type: ConfirmationType, isPersonThere: boolean, maySpend = false) =>
  decideConfirmation({ session_id: "s", confirmation_type, message: "go on?" }, { isPersonThere, maySpend });

describe("a confirmation", () => {
  it("is a person's to give", () => {
    for (const type of ["safety_confirm", "user_confirm", "cost_confirm", { custom: "x" }] as const)
      expect(decide(type, true)).toEqual({ decision: "escalate" });
  });

  it("is not given where nobody is there", () => {
    expect(decide("safety_confirm", false, true)).toEqual({
      decision: "reject",
      reason: "nobody is there to confirm it: go on?",
    });
    expect(decide("cost_confirm", false)).toMatchObject({ decision: "reject" });
  });

  it("of cost is given where spending is fine", () => {
    expect(decide("cost_confirm", false, true)).toEqual({ decision: "approve" });
  });
});
