import { describe, expect, test } from "vitest";
import { requestContext, supervise, testSubject, toolEvent } from "./fixtures/supervised.ts";

const RULES = `
tool_rules:
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask, reason: careful }
  - { name: rest, condition: {}, verdict: allowed }
`;

describe("what exceeds the bounds of a session", () => {
  const bounded = {
    ...requestContext,
    bounds: (_: unknown, { tool }: { tool: string }) =>
      tool === "ls" ? undefined : `the task was not given ${tool}`,
  };

  test("is blocked with the reason and on record, whatever the policy says, without an approval", async () => {
    const { supervisor, approvals, ledger } = await supervise(RULES);
    const decide = (tool: string) => supervisor.decide(toolEvent(tool, {}), testSubject, bounded);
    expect(await decide("ls")).toMatchObject({ verdict: "allowed", rule: "rest" });
    for (const tool of ["rm", "deploy"])
      expect(await decide(tool)).toMatchObject({
        verdict: "blocked",
        reason: `the task was not given ${tool}`,
      });
    expect(await approvals.list({ tenant: "default", limit: 10 })).toEqual([]);
    await supervisor.close();
    const recorded = await ledger.read({ quality: "policy_verdict" });
    expect(recorded.map(({ entry }) => entry.target)).toEqual(["ls", "rm", "deploy"]);
  });
});

describe("what the policy would say", () => {
  test("is reported without deciding anything", async () => {
    const { supervisor, ledger } = await supervise(RULES);
    expect(await supervisor.foresee(toolEvent("deploy", {}), testSubject, requestContext)).toMatchObject({
      verdict: "ask",
      rule: "question",
    });
    await supervisor.close();
    expect(await ledger.read({ quality: "policy_verdict" })).toEqual([]);
  });

  test("is nothing where there is none", async () => {
    const { supervisor } = await supervise(undefined);
    expect(await supervisor.foresee(toolEvent("ls", {}), testSubject, requestContext)).toBeUndefined();
  });
});
