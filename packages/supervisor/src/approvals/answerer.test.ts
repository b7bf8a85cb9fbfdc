import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actionOf, approvalFor, requestOf, subjectOf } from "../../test/approvals/requests.ts";
import {
  type Answerer,
  answererOf,
  changeShownTo,
  describeApproval,
  expectMayAnswer,
  expectPerson,
  isConcerned,
  mayAnswer,
  shownTo,
} from "./answerer.ts";
import type { Approval } from "./approval.ts";

const now = new Date("2026-11-15T09:00:00.000Z");

function approvalOf(own: Parameters<typeof requestOf>[0], more: Partial<Approval> = {}): Approval {
  return approvalFor(requestOf(own), now, more);
}

test("a person sees who wants to do what, where, why, and until when", () => {
  const facts = actionOf({
    tool: "bash",
    effects: [
      { kind: "exec", command: "git", arguments: ["push", null], opaque: true },
      { kind: "read", path: "/w/in", place: "workspace" },
      { kind: "write", path: "/w/db", place: "workspace", deep: true, destroys: true },
      { kind: "write", path: "/w/a.txt", place: "workspace", destroys: true },
      { kind: "net", host: "example.org" },
      { kind: "net", host: "*" },
    ],
    opaque: true,
    doubts: ["hooks may run"],
    claims: { title: "safe\u202e", kind: "read" },
    arguments: { command: "git push $X" },
  });
  const subject = subjectOf({ chain: ["boss", "lead"] });
  const answers = [{ by: "bob", decision: "allow_once", note: "fine", at: now.toISOString() }] as const;
  expect(describeApproval(approvalOf({ subject, facts, quorum: 2 }, { answers })).split("\n")).toEqual([
    "approval apr_x: pending, 1 of 2 answers",
    'who: agent "reed" through "boss", "lead" for "ann" of "acme", session "s1"',
    'what: tool "bash" ("pre_action"), asked',
    '  run "git" "push" (known only when it runs) (opaque)',
    '  read "/w/in" (workspace)',
    '  write "/w/db" and what is below it (workspace), what is there is lost',
    '  write "/w/a.txt" (workspace), what is there is lost',
    '  reach "example.org"',
    "  reach any host",
    "  may do more than can be seen from here",
    '  not known: "hooks may run"',
    'with: {"command":"git push $X"}',
    'in: "/w"',
    '  "/w/a.txt" is now "absent"',
    'why: "edits are asked about" (rule "ask about edits")',
    'the agent says: "title" "safe\\u202e"',
    'the agent says: "kind" "read"',
    'answered: allow_once by "bob" at 2026-11-15T09:00:00.000Z, "fine"',
    "answers: allow_once, deny",
    "until: 2026-11-16T09:00:00.000Z",
    expect.stringMatching(/^binding: [0-9a-f]{64}$/),
  ]);
});

test("nothing an agent writes can add a line or hide a part", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 4, maxLength: 4 }), (texts) => {
      const [tool = "", path = "", word = "", title = ""] = texts.map((text) => text.toWellFormed());
      const facts = actionOf({
        tool,
        effects: [{ kind: "exec", command: path, arguments: [word], opaque: false }],
        claims: { title },
        arguments: { [word]: path },
      });
      const lines = describeApproval(approvalOf({ facts, cwd: path })).split("\n");
      expect(lines).toHaveLength(12);
      expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Bidi_Control}\p{Zl}\p{Zp}]/u);
    }),
  );
});

const person = (own: Partial<Answerer> = {}): Answerer => ({
  ...{ by: "user:acme/bob", tenant: "acme", roles: [], isAgent: false },
  ...own,
});
const ann = person({ by: "user:acme/ann" });
const approver = person({ roles: ["approver"] });
const lead = person({ roles: ["lead"] });
const admin = person({ roles: ["admin"] });
const ALL = ["allow_once", "allow_always", "deny"];

describe("who may answer", () => {
  test.each([
    ["the user for whom the agent asks", ann, {}, ALL],
    ["an approver", approver, {}, ALL],
    ["an admin", admin, {}, ALL],
    ["another user", person(), {}, []],
    ["an approver of another tenant", person({ tenant: "zeta", roles: ["approver"] }), {}, []],
    ["an agent, whatever its roles", person({ isAgent: true, roles: ["admin"] }), {}, []],
    ["the harness itself", person({ by: "reins:system", roles: ["admin"] }), {}, []],
    ["the user, where others have to agree, only with no", ann, { four_eyes: true }, ["deny"]],
    ["the user, where two have to agree, only with no", ann, { quorum: 2 }, ["deny"]],
    ["the user, where the rule names roles, only with no", ann, { approvers: ["lead"] }, ["deny"]],
    ["an approver, where the rule names another role, not at all", approver, { approvers: ["lead"] }, []],
    ["a holder of the role that the rule names", lead, { approvers: ["lead"] }, ALL],
    ["an admin, where the rule names a role", admin, { approvers: ["lead"] }, ALL],
    ["an approver, where others than the user have to agree", approver, { four_eyes: true, quorum: 2 }, ALL],
  ])("%s", (_, answerer, own, options) => {
    const permitted = mayAnswer(answerer, approvalOf({}, own));
    expect(permitted.options).toEqual(options);
    if (options.length < ALL.length) expect(permitted.reason).not.toBe("");
  });

  test("an answer that may not be given is forbidden; one that is not on offer is left to be invalid", () => {
    const approval = approvalOf({}, { quorum: 2, options: ["allow_once", "deny"] });
    expect(() => expectMayAnswer(ann, approval, "allow_once")).toThrow(/may not answer apr_x so/);
    expect(() => expectMayAnswer(ann, approval, "deny")).not.toThrow();
    expect(() => expectMayAnswer(approver, approval, "allow_always")).not.toThrow();
  });

  test.each([
    ["an agent's token", person({ isAgent: true })],
    ["the agent that asks", person({ by: "reed" })],
    ["an agent of the chain", person({ by: "boss" })],
    ["an empty name", person({ by: "" })],
    ["a name of the harness", person({ by: "reins:log" })],
  ])("%s is no person", (_, answerer) => {
    const subject = subjectOf({ chain: ["boss"] });
    expect(() => expectPerson(answerer, approvalOf({ subject }))).toThrow(/person/);
  });

  test("a principal answers under its user's name, the operator with the role of an admin", () => {
    const principal = { id: "local", kind: "user", user: "ann", tenant: "acme", started: "api" } as const;
    const given = { ...principal, roles: ["lead"], scopes: [], agents: [] };
    expect(answererOf(given)).toEqual({ ...ann, roles: ["lead", "admin"] });
    expect(answererOf({ ...given, id: "tok_1", kind: "agent" })).toEqual({
      ...ann,
      roles: ["lead"],
      isAgent: true,
    });
  });
});

describe("what is shown of an approval", () => {
  test("to those it concerns is all of it, with what they may answer", () => {
    const approval = approvalOf({}, { quorum: 2 });
    expect(shownTo(ann, approval)).toEqual({ ...approval, options: ["deny"] });
    expect(shownTo(approver, approval)).toEqual(approval);
    expect(isConcerned(ann, approval) && isConcerned(approver, approval)).toBe(true);
  });

  test("to others is only that it is there", () => {
    const approval = approvalOf({});
    const { id, tenant, agent, state, created_at, expires_at } = approval;
    const withheld = { id, tenant, agent, state, created_at, expires_at, withheld: true };
    expect(shownTo(person(), approval)).toEqual(withheld);
    const change = { seq: 7, at: created_at, entry: "e", approval };
    expect(changeShownTo(person(), change)).toEqual({ seq: 7, at: created_at, approval: withheld });
    expect(changeShownTo(ann, change)).toEqual(change);
  });

  test("offers the beginnings of a plain command to those who may allow it always", () => {
    const command = { words: ["git", "push", "origin"] };
    const approval = approvalOf({ command }, { options: ["allow_once", "allow_always", "deny"] });
    expect(shownTo(ann, approval)).toMatchObject({
      prefixes: [
        ["git", "push"],
        ["git", "push", "origin"],
      ],
    });
    expect(shownTo(ann, { ...approval, quorum: 2 })).not.toHaveProperty("prefixes");
    expect(shownTo(ann, { ...approval, state: "used" })).not.toHaveProperty("prefixes");
  });
});
