import type { PolicyExplanation } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { anExplanation } from "../../test/examples.ts";
import { rendered, renderedText } from "../../test/render.ts";
import { ExplanationView } from "./explanation-view.tsx";

const text = (more: Partial<PolicyExplanation> = {}) =>
  renderedText(createElement(ExplanationView, { explanation: anExplanation(more) }));
const recorded = {
  verdict: "allowed",
  rule: "no_secrets",
  reason: "a person said yes",
  enforcement: "performed",
  approval: null,
  grant: null,
} as const;

describe("an explanation", () => {
  test("has verdict, rule and reason", () => {
    expect(text()).toMatch(/^blocked no_secrets : secrets are not for agents/);
  });

  test("prefers the recorded verdict, and says what the rules alone said", () => {
    expect(text({ recorded })).toMatch(/^allowed performed no_secrets : a person said yes/);
    expect(text({ recorded })).toContain("The rules alone say blocked by no_secrets");
  });

  test.each([
    [{ grant: "g", approval: "p" }, "a grant decided"],
    [{ approval: "p" }, "a person decided"],
    [{}, "a limit or another harness was stricter"],
  ])("names what overruled the rules: %j", (more, reason) => {
    expect(text({ recorded: { ...recorded, ...more } })).toContain(reason);
  });

  test("does not mention the rules alone if they decided", () => {
    expect(text({ recorded: { ...recorded, verdict: "blocked" } })).not.toContain("The rules alone");
  });

  test("links to the approval", () => {
    const explanation = anExplanation({ recorded: { ...recorded, approval: "p-1" } });
    const html = rendered(createElement(ExplanationView, { explanation }));
    expect(html).toContain('href="/ui/approvals?approval=p-1"');
  });

  test("says whether the policy is in force", () => {
    const { policy } = anExplanation();
    expect(text()).toContain("in force now");
    expect(text({ policy: { ...policy, current: false } })).toContain("not in force any more");
  });

  test("lists counters, external harnesses and notes", () => {
    const shown = text({ counters: { calls: 3 }, harnesses: ["a", "b"], note: "no\u200barguments" });
    expect(shown).toContain("calls 3");
    expect(shown).toContain("External harnesses a, b");
    expect(shown).toContain("no⟨U+200B⟩arguments");
  });
});

describe("the effects of an action", () => {
  const { facts } = anExplanation();

  test("are listed with the arguments", () => {
    expect(text()).toContain("read_file reads /w/.env (credentials)");
    expect(text()).toContain('"path": ".env"');
  });

  test("are said to be none only if the action is not opaque", () => {
    const none = { ...facts, effects: [], arguments: {} };
    expect(text({ facts: none })).toContain("No effects.");
    expect(text({ facts: { ...none, opaque: true } })).not.toContain("No effects.");
    expect(text({ facts: { ...none, opaque: true } })).toContain("opaque");
  });

  test("include doubts, with hidden characters escaped", () => {
    expect(text({ facts: { ...facts, doubts: ["hooks\nmay run"] } })).toContain("hooks⟨U+000A⟩may run");
    expect(text({ facts: { ...facts, tool: "" } })).toContain("No tool");
  });
});

describe("the subject", () => {
  test("has user, tenant, scopes, agent and trust", () => {
    expect(text()).toContain("On behalf of ada of default, scopes run Agent native, trust standing");
  });

  test("has roles, delegation, depth, mode and start if they are known", () => {
    const subject = { roles: ["admin"], chain: ["a", "b"], depth: 2, mode: "plan", started: "today" };
    expect(text({ subject })).toMatch(
      /as admin, scopes none .*through a → b, depth 2, mode plan, started today/,
    );
  });

  test("links to a session of this server only", () => {
    const html = (session: string) =>
      rendered(createElement(ExplanationView, { explanation: anExplanation({ subject: { session } }) }));
    expect(html("b".repeat(64))).toContain(`/ui/sessions/${"b".repeat(64)}`);
    expect(html("not-an-id")).not.toContain("/ui/sessions/");
  });

  test("tolerates members of another type", () => {
    expect(text({ subject: { user: 7, roles: "admin", depth: "2" } })).toContain("scopes none");
  });
});

describe("the evaluated rules", () => {
  const clause = (name: string, asked: unknown) => ({ clause: name, asked });

  test("show why one matched and the first three clauses that failed of others", () => {
    const failed = ["tool", "agent", "trust", "user"].map((name) => clause(name, ["x", "y"]));
    const shown = text({
      rules: [
        { rule: "first", verdict: "allowed", matched: false, held: [], failed },
        {
          rule: "second",
          verdict: "blocked",
          matched: true,
          held: [clause("place", "credentials")],
          failed: [],
        },
      ],
    });
    expect(shown).toContain(
      "1 – did not match first tool x or y, agent x or y, trust x or y did not hold allowed",
    );
    expect(shown).toContain("2 ✓ matched second because place credentials blocked");
  });

  test("say that a rule without a condition matches everything", () => {
    const rules = [{ rule: "last", verdict: "ask", matched: true, held: [], failed: [] } as const];
    expect(text({ rules: rules.map((rule) => ({ ...rule, held: [], failed: [] })) })).toContain(
      "matches everything",
    );
    expect(text()).toContain("No rule was evaluated.");
  });
});

describe("budgets", () => {
  const limit = { name: "daily", per: "user", exceeded: "ask" } as const;
  const used = { calls: 3, tokens: 1_200, cost: 0.5, time_ms: 61_000 };

  test.each([
    [{ calls: 10, used }, "3 of 10 calls"],
    [{ tokens: 5_000, used }, "1,200 of 5,000 tokens"],
    [{ cost: 2, used }, "$0.50 of $2.00"],
    [{ time: "1h", used }, "1.0 min of 1h"],
    [{ calls: 10, cost: 2, used: null }, "? of 10 calls, ? of $2.00"],
  ])("show use and limit of %j", (more, shown) => {
    expect(text({ limits: [{ ...limit, ...more }] })).toContain(shown);
  });

  test("name whose use counts and for how long", () => {
    expect(text({ limits: [{ ...limit, within: "1d", calls: 1, used }] })).toContain(
      "daily each user within 1d",
    );
    expect(text({ limits: [{ ...limit, calls: 1, used }] })).toMatch(/daily each user 3 of 1 calls ask/);
    expect(text()).not.toContain("Budgets");
  });
});
