import { describe, expect, it } from "vitest";
import { sampleApproval } from "../../../test/sample-approval.ts";
import { approvalLine, HEADING } from "./approvals.ts";

const NOW = new Date("2026-11-15T05:25:00Z");

describe("an approval in a list", () => {
  it("takes one line, under the heading", () => {
    expect(`${HEADING}\n${approvalLine(sampleApproval(), NOW, 80)}`).toBe(
      [
        "id            state      time      agent       what",
        "apr_aaaabbbb  pending    55m left  claude      Bash: run git push --force; reac…",
      ].join("\n"),
    );
  });

  it("shows its age once it is closed", () => {
    expect(approvalLine(sampleApproval({ state: "denied", agent: "a-long-agent" }), NOW, undefined)).toBe(
      "apr_aaaabbbb  denied     5m ago    a-long-ag…  Bash: run git push --force; reach example.com",
    );
  });
});
