import { describe, expect, it } from "vitest";
import { sampleApproval } from "../../../test/sample-approval.ts";
import { outcomeWords } from "./answer.ts";

const WHAT = "  claude for ann, Bash: run git push --force; reach example.com\n";

describe("the outcome of an answer", () => {
  it("shows what was allowed, and for how long", () => {
    const approved = sampleApproval({ state: "approved" });
    expect(outcomeWords(approved, "allow_once")).toBe(
      `allowed once  ${approved.id}\n${WHAT}  It is allowed now if the agent waits, else when it asks again, until 2026-11-15 06:20:00Z.\n`,
    );
    expect(outcomeWords(approved, "allow_always")).toBe(
      `allowed always  ${approved.id}\n${WHAT}  The same is allowed from now on; see reins approvals grants.\n`,
    );
  });

  it("shows what was denied, and what waits for others", () => {
    expect(outcomeWords(sampleApproval({ state: "denied" }), "deny")).toMatch(/^denied {2}apr_/);
    expect(outcomeWords(sampleApproval({ quorum: 2 }), "allow_once")).toContain(
      ": 0 of 2 people agreed so far\n",
    );
  });
});
