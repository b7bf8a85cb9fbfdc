import { Roster } from "@reins/policy";
import { expect, test } from "vitest";
import { agentFor, trustIn, unverified } from "./agent-claim.ts";
import type { Principal } from "./principal.ts";

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
