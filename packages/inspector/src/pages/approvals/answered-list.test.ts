import type { Approval, Grant } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { anApproval } from "../../../test/examples.ts";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import { AnswerBar, isTooLate, LateNotice } from "./answer-bar.tsx";
import { AnsweredList, AnsweredOne } from "./approvals-page.tsx";
import { GrantList } from "./grant-list.tsx";

const HASH = "a".repeat(64);
const AT = "2026-01-01T00:00:00.000Z";

describe("the list of grants", () => {
  const grant = (more: Partial<Grant> = {}): Grant => ({
    id: "g",
    tenant: "default",
    user: "ada",
    agent: "native\u200b",
    chain: [],
    enforcement: "performed",
    event_type: "pre_action",
    tool: "run_command",
    effects: [],
    cwd: "/w/a  b",
    binding: HASH,
    approval: "p",
    by: ["ada", "bob"],
    created_at: AT,
    uses: 3,
    ...more,
  });
  const list = (...grants: readonly Grant[]) =>
    renderedText(createElement(GrantList), cached([["grants"], { grants }]));

  test("shows agent, tool, folder, granters and uses", () => {
    expect(list(grant())).toContain("native⟨U+200B⟩ run_command /w/a b ada, bob when revoked 3 Revoke");
  });

  test("shows effects or the prefix of a command instead of the tool, each word quoted", () => {
    const write = { kind: "write", path: "/w/x", place: "workspace", destroys: false } as const;
    const reach = { kind: "net", host: "a.test" } as const;
    expect(list(grant({ effects: [write, reach] }))).toContain("writes /w/x (workspace); reaches a.test");
    expect(list(grant({ prefix: ["git", "push origin"] }))).toContain('git "push origin" …');
  });

  test("offers no button for a revoked grant", () => {
    const shown = list(grant({ revoked_at: AT }));
    expect(shown).toContain("revoked");
    expect(shown).not.toMatch(/Revoke$/);
  });

  test("says how a grant is made while there is none", () => {
    expect(list()).toContain("No grants");
  });
});

describe("answered approvals", () => {
  const answer = { by: "bob", decision: "deny", note: "not today", at: AT } as const;
  const answered = anApproval({ state: "denied", answers: [answer] });
  const list = (...approvals: readonly Approval[]) =>
    renderedText(createElement(AnsweredList), cached([["approvals", "answered"], { approvals }]));

  test("show effect, state and answer, and leave pending ones out", () => {
    const shown = list(answered, anApproval({ id: "other", agent: "pending-agent" }));
    expect(shown).toMatch(/native runs make \(and whatever that runs\) denied deny by bob not today/);
    expect(shown).not.toContain("pending-agent");
    expect(list(anApproval())).toContain("No answers yet");
  });

  test("are shown one by one, unless they are withheld", () => {
    const one = (data: object) =>
      renderedText(
        createElement(AnsweredOne, { id: "approval-1" }),
        cached([["approval", "approval-1"], data]),
      );
    expect(one(answered)).toContain("Request and answer denied");
    expect(one({ ...answered, withheld: true })).toContain("Not visible to you");
  });
});

describe("the answers to an approval", () => {
  const bar = (approval: Approval) => rendered(createElement(AnswerBar, { approval }));

  test("are those that the user may give", () => {
    expect(bar(anApproval())).toMatch(/Allow once.*Always ….*Deny …/s);
    expect(bar(anApproval({ options: ["allow_once", "deny"] }))).not.toContain("Always");
    expect(bar(anApproval({ options: ["deny"] }))).not.toContain("Allow once");
  });
});

test("an answer is too late if the server reports a conflict", () => {
  expect(isTooLate(new ApiError(409, {}))).toBe(true);
  expect(isTooLate(new ApiError(404, {}))).toBe(false);
  expect(isTooLate(new Error("409"))).toBe(false);
  expect(renderedText(createElement(LateNotice))).toBe("");
});
