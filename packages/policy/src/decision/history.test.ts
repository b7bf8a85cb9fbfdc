import { describe, expect, it, test } from "vitest";
import { type Deed, inputOf, policyOf } from "../../test/recorded.ts";
import { History } from "./policy.ts";

const MINUTE = 60_000;

/** A policy that blocks after so many of a kind, and the history it asks for. */
function counting(condition: string, of = "{ tool_name_matches: [send] }") {
  const policy = policyOf(`
tool_rules:
  - { name: many, condition: { ${condition.replace("OF", of)} }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }`);
  const history = new History(policy.sequences);
  const decide = (deed: Deed) => policy.decide(inputOf({ tool: "send", ...deed }, history)).rule;
  const note = (deed: Deed) => history.note(inputOf({ tool: "send", ...deed }));
  return { history, decide, note };
}

describe("a count", () => {
  it("holds from the action on that makes it full", () => {
    const { decide, note } = counting("count: { of: OF, within: 10m, at_least: 2 }");
    expect(decide({ at: 0 })).toBe("rest");
    note({ at: 0 });
    expect(decide({ at: 1 })).toBe("rest");
    note({ at: 1 });
    expect(decide({ at: 2 })).toBe("many");
  });

  it("forgets what was longer ago", () => {
    const { decide, note } = counting("count: { of: OF, within: 10m, at_least: 1 }");
    note({ at: 0 });
    expect(decide({ at: 10 * MINUTE })).toBe("many");
    expect(decide({ at: 10 * MINUTE + 1 })).toBe("rest");
  });

  it("does not count other tools", () => {
    const { decide, note } = counting("count: { of: OF, within: 10m, at_least: 1 }");
    note({ tool: "look" });
    expect(decide({})).toBe("rest");
  });

  it("stays in order when the clock is set back", () => {
    const { decide, note } = counting("count: { of: OF, within: 1m, at_least: 2 }");
    for (const at of [5 * MINUTE, 0, 3 * MINUTE]) note({ at });
    expect(decide({ at: 5 * MINUTE })).toBe("rest");
    expect(decide({ at: MINUTE })).toBe("many");
  });

  it("takes back what did not happen after all", () => {
    const { history, decide } = counting("count: { of: OF, within: 10m, at_least: 1 }");
    const sent = inputOf({ tool: "send", at: 5 });
    history.note(sent);
    history.takeBack(sent);
    history.takeBack(sent);
    expect(decide({ at: 6 })).toBe("rest");
  });

  it("keeps a bounded number of times", () => {
    const { history, note } = counting("count: { of: OF, within: 7d, at_least: 20000 }");
    for (let at = 0; at < 10_010; at += 1) note({ at });
    expect(Object.values(history.counters(inputOf({}).subject, 10_010))).toEqual([10_000]);
  });
});

describe("whose actions count", () => {
  const others = { session: { session: "s2" }, user: { user: "bob" }, agent: { agent: "x" } } as const;

  test.each(Object.entries(others))("by %s", (by, other) => {
    const { decide, note } = counting(`count: { of: OF, within: 10m, at_least: 1, by: ${by} }`);
    note({});
    expect(decide({})).toBe("many");
    expect(decide({ subject: other })).toBe("rest");
  });

  it("by tenant, for all its users and agents", () => {
    const { decide, note } = counting("count: { of: OF, within: 10m, at_least: 1, by: tenant }");
    note({});
    expect(decide({ subject: { user: "bob", agent: "x", session: "s9" } })).toBe("many");
    expect(decide({ subject: { tenant: "acme" } })).toBe("rest");
  });

  it("never those of another tenant's user of the same name", () => {
    for (const by of ["session", "user", "agent"]) {
      const { decide, note } = counting(`count: { of: OF, within: 10m, at_least: 1, by: ${by} }`);
      note({});
      expect(decide({ subject: { tenant: "acme" } }), by).toBe("rest");
    }
  });
});

describe("after", () => {
  it("holds from the first on, for ever or for a time", () => {
    const forever = counting("after: { of: OF }");
    forever.note({ at: 0 });
    expect(forever.decide({ at: 1e12 })).toBe("many");
    const limited = counting("after: { of: OF, within: 1m }");
    limited.note({ at: 0 });
    expect(limited.decide({ at: MINUTE })).toBe("many");
    expect(limited.decide({ at: MINUTE + 1 })).toBe("rest");
  });

  it("of several needs all", () => {
    const { decide, note } = counting(
      "after: [{ of: { tool_name_matches: [a] } }, { of: { tool_name_matches: [b] } }]",
    );
    note({ tool: "a" });
    expect(decide({})).toBe("rest");
    note({ tool: "b" });
    expect(decide({})).toBe("many");
  });

  it("of two rules with one name is counted apart", () => {
    const policy = policyOf(`
tool_rules:
  - { name: r, condition: { after: { of: { tool_name_matches: [a] } }, user: bob }, verdict: ask }
  - { name: r, condition: { after: { of: { tool_name_matches: [b] } } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: allowed }`);
    const history = new History(policy.sequences);
    history.note(inputOf({ tool: "a" }));
    expect(policy.decide(inputOf({}, history)).verdict).toBe("allowed");
    history.note(inputOf({ tool: "b" }));
    expect(policy.decide(inputOf({}, history)).verdict).toBe("blocked");
  });
});
