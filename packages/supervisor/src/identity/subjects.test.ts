import { Roster } from "@reins/policy";
import { describe, expect, test } from "vitest";
import type { Principal } from "./principal.ts";
import { agentFor, OwnSubjects, type SubjectRequest, trustIn, unverified } from "./subjects.ts";

const principal: Principal = {
  id: "tok_1",
  kind: "user",
  user: "ann",
  tenant: "default",
  roles: ["developer"],
  scopes: ["*"],
  agents: ["reed"],
  started: "api",
};
const roster = Roster.read('{"session_id":"reed","kind":"role","state":"live"}');
const request: SubjectRequest = {
  principal,
  agent: "reed",
  session: "s1",
  hosted: true,
  sessionKey: "reed:acp:1",
  enforcement: "asked",
};

describe("the subject of a session", () => {
  test("is the same object as long as everything that makes it is the same", () => {
    const subjects = new OwnSubjects();
    const subject = subjects.subjectFor(request, principal, roster);
    expect(subject).toEqual({
      user: "ann",
      tenant: "default",
      roles: ["developer"],
      scopes: ["*"],
      agent: "reed",
      trust: "standing",
      session: "s1",
      session_key: "reed:acp:1",
      started: "api",
      chain: [],
      depth: 0,
      mode: "default",
      enforcement: "asked",
    });
    expect(subjects.subjectFor({ ...request, mode: "default", depth: 0 }, principal, roster)).toBe(subject);
    expect(() => Object.assign(subject, { trust: "standing" })).toThrow();
  });

  test.each<[string, Partial<SubjectRequest>, object]>([
    ["who the agent says it is", { agent: "fern" }, { agent: "unverified:fern", trust: "unknown" }],
    ["the mode", { mode: "plan" }, { mode: "plan" }],
    ["the enforcement", { enforcement: "observed" }, { enforcement: "observed" }],
    ["the depth", { depth: 1 }, { depth: 1, started: "sub-agent" }],
    ["the key", { sessionKey: "reed:acp:2" }, { session_key: "reed:acp:2" }],
    ["the session", { session: "s2" }, { session: "s2" }],
  ])("is another at once when %s is", (_, changed, expected) => {
    const subjects = new OwnSubjects();
    const before = subjects.subjectFor(request, principal, roster);
    expect(subjects.subjectFor({ ...request, ...changed }, principal, roster)).toEqual({
      ...before,
      ...expected,
    });
    expect(subjects.subjectFor(request, principal, roster)).toEqual(before);
  });

  test("is another at once when the roster is", () => {
    const subjects = new OwnSubjects();
    const before = subjects.subjectFor(request, principal, roster);
    const unknown = subjects.subjectFor(request, principal, Roster.read(""));
    expect(unknown).toEqual({ ...before, trust: "unknown" });
    expect(subjects.subjectFor(request, principal, roster)).toEqual(before);
  });

  test("is another at once when its principal is", () => {
    const subjects = new OwnSubjects();
    subjects.subjectFor(request, principal, roster);
    const narrowed = { ...principal, scopes: ["read"], agents: [] };
    expect(subjects.subjectFor(request, narrowed, roster)).toMatchObject({
      scopes: ["read"],
      agent: "unverified:reed",
      trust: "unknown",
    });
  });

  test.each([undefined, "reed:acp:1"])(
    "hosted here (key %s), is its own agent and not its token's",
    (sessionKey) => {
      const subjects = new OwnSubjects();
      const holder: Principal = { ...principal, kind: "agent" };
      const asked = { ...request, agent: "fern", sessionKey };
      const hosted = { agent: "unverified:fern", trust: "unknown" };
      const outside = { agent: "reed", trust: "standing", claimed_agent: "fern" };
      expect(subjects.subjectFor(asked, holder, roster)).toMatchObject(hosted);
      expect(subjects.subjectFor({ ...asked, hosted: false }, holder, roster)).toMatchObject(outside);
      expect(subjects.subjectFor(asked, holder, roster)).toMatchObject(hosted);
    },
  );

  test("without a key has none", () => {
    expect(
      new OwnSubjects().subjectFor({ ...request, sessionKey: undefined }, principal, roster),
    ).not.toHaveProperty("session_key");
  });
});

const known = Roster.read(
  [
    { session_id: "warden", kind: "role", state: "live" },
    { session_id: "reed", kind: "agent", state: "live" },
    { session_id: "ghost", kind: "agent", state: "dead" },
    { session_id: "unverified:reed", kind: "role", state: "live" },
  ]
    .map((line) => JSON.stringify(line))
    .join("\n"),
);

const acting = (...agents: string[]): Principal => ({ ...principal, agents });

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
  expect(agentFor(acting(...agents), claim)).toBe(name);
});

test("an endless claim is cut", () => {
  expect(unverified("x".repeat(1_000_000)).length).toBeLessThan(200);
  expect(agentFor(acting("*"), "x".repeat(1_000_000)).length).toBeLessThan(200);
});

test("trust is that of the least known agent of the chain; an unverified one is unknown whatever the roster says", () => {
  expect(trustIn(known, ["warden"])).toBe("standing");
  expect(trustIn(known, ["reed", "warden"])).toBe("registered");
  expect(trustIn(known, ["warden", "ghost"])).toBe("unknown");
  expect(trustIn(known, ["unverified:reed"])).toBe("unknown");
  expect(trustIn(known, ["unverified:x", "warden"])).toBe("unknown");
});
