import type { Harness, Subject } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import { gateTools, offerDraft } from "./tool-offer.ts";

const subject = {
  agent: "native",
  tenant: "default",
  session: "s",
  session_key: "native:acp:1",
  trust: "registered",
  enforcement: "performed",
} as unknown as Subject;

/** A policy with these verdicts on tools; none where there is nothing to say. */
const harnessWith = (verdicts: Readonly<Record<string, string>> | undefined) =>
  ({
    supervisor: {
      outlook: (tool: string) =>
        verdicts && {
          verdict: verdicts[tool] ?? "allowed",
          rule: `rule_${tool}`,
          reason: `because of ${tool}`,
        },
    },
    policies: { inForce: { get: () => verdicts && { hashes: { constitution_hash: "c", rules_hash: "r" } } } },
  }) as unknown as Harness;
const RULES = harnessWith({ delete: "blocked", deploy: "ask" });
const gatesOf = (harness: Harness, ...tools: string[]) => gateTools(harness, subject, { tools });

describe("a tool that a model is to be offered", () => {
  test("is gated by what the policy has for it", () => {
    expect(gatesOf(RULES, "read", "deploy", "delete")).toMatchObject([
      { tool: "read", verdict: "allowed", rule: "rule_read", constitution_hash: "c" },
      { tool: "deploy", verdict: "ask" },
      { tool: "delete", verdict: "blocked", reason: "because of delete" },
    ]);
  });

  test("is withheld without a policy", () => {
    const blocked = { verdict: "blocked", reason: "no policy is loaded", constitution_hash: null };
    expect(gatesOf(harnessWith(undefined), "read")).toMatchObject([blocked]);
  });

  test("is withheld from an agent that takes none, by the rule where one blocks it too", () => {
    const offer = { tools: ["read", "delete"], withheld: "claude brings its own tools" };
    expect(gateTools(RULES, subject, offer)).toMatchObject([
      { verdict: "blocked", rule: undefined, reason: "claude brings its own tools" },
      { verdict: "blocked", rule: "rule_delete", reason: "because of delete" },
    ]);
  });
});

describe("the entry of an offer", () => {
  test.each([
    ["every tool is offered", ["read", "deploy"], "allowed", "every tool is offered"],
    ["some are withheld", ["read", "delete"], "modify", "withheld: delete"],
    ["all are withheld", ["delete"], "blocked", "withheld: delete"],
  ])("says that %s", (_, tools, verdict, reason) => {
    const draft = offerDraft(RULES, subject, gatesOf(RULES, ...tools));
    expect(draft).toMatchObject({ quality: "policy_verdict", tags: ["tool_offer", verdict] });
    expect(draft.payload).toMatchObject({ event_type: "tool_offer", verdict, reason, facts: null });
  });

  test("names the policy, and each tool with its rule", () => {
    const { payload } = offerDraft(RULES, subject, gatesOf(RULES, "deploy", "delete"));
    expect(payload).toMatchObject({
      constitution_hash: "c",
      rules_hash: "r",
      trust: "registered",
      enforcement: "performed",
      offered: [{ tool: "deploy", verdict: "ask", rule: "rule_deploy" }],
      withheld: [{ tool: "delete", rule: "rule_delete", reason: "because of delete" }],
    });
  });

  test("is the same for the same offer, so that it is recorded once", () => {
    const once = () => JSON.stringify(offerDraft(RULES, subject, gatesOf(RULES, "read", "delete")));
    expect(once()).toBe(once());
  });
});
