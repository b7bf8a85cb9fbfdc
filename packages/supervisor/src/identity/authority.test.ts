import { Roster } from "@reins/policy";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { agentFor, trustIn, unverified } from "./authority.ts";
import { covers, intersect, type Principal } from "./principal.ts";

const roster = Roster.read(
  [
    { session_id: "warden", kind: "role", state: "live" },
    { session_id: "reed", kind: "agent", state: "live" },
    { session_id: "ghost", kind: "agent", state: "dead" },
    { session_id: "unverified:reed", kind: "role", state: "live" },
  ]
    .map((line) => JSON.stringify(line))
    .join("\n"),
);

const principal = (...agents: string[]): Principal => ({
  id: "tok_1",
  kind: "user",
  user: "ann",
  tenant: "default",
  roles: [],
  scopes: [],
  agents,
  started: "api",
});

test.each([
  ["one it may act as", ["reed"], "reed", "reed"],
  ["any, where any is allowed", ["*"], "reed", "reed"],
  ["one that is not on the roster, where any is allowed", ["*"], "stranger", "stranger"],
  ["one it may not act as", ["reed"], "warden", "unverified:warden"],
  ["one where it may act as none", [], "reed", "unverified:reed"],
  ["no name at all", ["*"], "", "unverified:"],
  ["a name that looks verified already", ["*"], "unverified:reed", "unverified:unverified:reed"],
  ["a name with a line end", ["*"], "reed\nallowed", "unverified:reed\u{fffd}allowed"],
  ["a name that turns text round", ["*"], "\u202edeer", "unverified:\u{fffd}deer"],
])("an agent that claims to be %s", (_, agents, claim, name) => {
  expect(agentFor(principal(...agents), claim)).toBe(name);
});

test("an endless claim is cut", () => {
  expect(unverified("x".repeat(1_000_000)).length).toBeLessThan(200);
  expect(agentFor(principal("*"), "x".repeat(1_000_000)).length).toBeLessThan(200);
});

test("trust is that of the least known agent of the chain; an unverified one is unknown whatever the roster says", () => {
  expect(trustIn(roster, ["warden"])).toBe("standing");
  expect(trustIn(roster, ["reed", "warden"])).toBe("registered");
  expect(trustIn(roster, ["warden", "ghost"])).toBe("unknown");
  expect(trustIn(roster, ["unverified:reed"])).toBe("unknown");
  expect(trustIn(roster, ["unverified:x", "warden"])).toBe("unknown");
});

describe("scopes", () => {
  const scopes = fc.uniqueArray(fc.constantFrom<string>("*", "a", "b", "c", "d"));

  test("what several lists have in common is never more than any of them, and all they share", () => {
    fc.assert(
      fc.property(fc.array(scopes, { minLength: 1 }), (lists) => {
        const common = intersect(...lists);
        for (const list of lists) expect(covers(list, common)).toBe(true);
        for (const scope of ["a", "b", "c", "d"]) {
          const shared = lists.every((list) => list.includes("*") || list.includes(scope));
          expect(common.includes("*") || common.includes(scope)).toBe(shared);
        }
      }),
    );
  });

  test("the order of the lists does not matter", () => {
    fc.assert(
      fc.property(scopes, scopes, (one, other) => {
        expect(new Set(intersect(one, other))).toEqual(new Set(intersect(other, one)));
      }),
    );
  });

  test("only a list with * covers *", () => {
    expect(covers(["a"], ["*"])).toBe(false);
    expect(covers(["*"], ["*"])).toBe(true);
    expect(covers([], [])).toBe(true);
  });
});
