import * as fc from "fast-check";
import { expect, test } from "vitest";
import { actionOf, approvalFor, requestOf, subjectOf } from "../../test/approvals/requests.ts";
import { describeApproval } from "./answerer.ts";
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
