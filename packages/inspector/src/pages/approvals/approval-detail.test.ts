import type { Approval } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { anApproval } from "../../../test/examples.ts";
import { rendered, renderedText } from "../../../test/render.ts";
import {
  ApprovalFacts,
  ApprovalState,
  ApprovalWhat,
  ExactCallView,
  GivenAnswer,
} from "./approval-detail.tsx";

const { facts } = anApproval();
const what = (more: Partial<Approval> = {}) =>
  renderedText(createElement(ApprovalWhat, { approval: anApproval(more) }));
const why = (more: Partial<Approval> = {}) =>
  renderedText(createElement(ApprovalFacts, { approval: anApproval(more) }));

describe("what an approval asks", () => {
  test("has effects and the exact call", () => {
    expect(what()).toBe("runs make (and whatever that runs) $ make");
  });

  test("includes doubts and opacity", () => {
    const shown = what({ facts: { ...facts, opaque: true, doubts: ["which\thooks run"] } });
    expect(shown).toContain("may do more than Reins can determine");
    expect(shown).toContain("not known: which⟨U+0009⟩hooks run");
  });

  test("warns if the call cannot be shown exactly", () => {
    expect(what({ unreadable: "a number is too long" })).toMatch(
      /^This request cannot be shown exactly, so it can only be denied: a number is too long/,
    );
  });

  test("keeps runs of spaces, which HTML would collapse", () => {
    const effects = [{ kind: "write", path: "/w/a  b", place: "workspace", destroys: false } as const];
    const html = rendered(
      createElement(ApprovalWhat, { approval: anApproval({ facts: { ...facts, effects } }) }),
    );
    expect(html).toMatch(/whitespace-pre-wrap[^>]*>writes &quot;\/w\/a {2}b&quot; \(workspace\)/);
  });
});

describe("the exact call", () => {
  const text = (given: unknown) => renderedText(createElement(ExactCallView, { given }));

  test("is a command, a diff or JSON, with all other arguments", () => {
    expect(text({ command: "make", cwd: "/etc" })).toBe('$ make and with these arguments { "cwd": "/etc" }');
    expect(text({ path: "a", old_text: "x", new_text: "y" })).toBe("a − x + y");
    expect(text({ host: "h" })).toBe('{ "host": "h" }');
    expect(text(undefined)).toBe("null");
  });

  test("has hidden characters escaped in every form", () => {
    expect(text({ command: "rm \u202ea" })).toContain("⟨U+202E⟩");
    expect(text({ path: "a\u3164", content: "b\u2800" })).toBe("a⟨U+3164⟩ + b⟨U+2800⟩");
    expect(text({ "k\ue000": 1 })).toContain("k⟨U+E000⟩");
  });
});

describe("why an approval is requested", () => {
  test("names reason, user, agent, folder and enforcement", () => {
    const shown = why({ rule: "builds_are_asked" });
    expect(shown).toContain("make runs what the build files say (rule builds_are_asked)");
    expect(shown).toContain("On behalf of ada, by native");
    expect(shown).toContain("Folder /w");
    expect(shown).toContain("performed");
    expect(shown).not.toContain("The agent says");
    expect(shown).not.toContain("that are needed");
  });

  test("names the agents in between, the claim of the agent, and the quorum", () => {
    const answer = { by: "bob", decision: "allow_once", at: "2026-01-01T00:00:00.000Z" } as const;
    const shown = why({
      chain: ["a", "b\u200b"],
      facts: { ...facts, claims: { title: "harmless\nreally" } },
      quorum: 2,
      answers: [answer],
    });
    expect(shown).toContain("by native through a, b⟨U+200B⟩");
    expect(shown).toContain("The agent says harmless⟨U+000A⟩really");
    expect(shown).toContain("1 of 2 that are needed");
  });

  test("links to the session", () => {
    const html = rendered(createElement(ApprovalFacts, { approval: anApproval() }));
    expect(html).toContain(`href="/ui/sessions/${"b".repeat(64)}"`);
  });
});

test("an answer has decision, user and reason", () => {
  const answer = {
    by: "bob",
    decision: "deny",
    note: "not\u202e today",
    at: "2026-01-01T00:00:00.000Z",
  } as const;
  const shown = renderedText(createElement(GivenAnswer, { answer }));
  expect(shown).toContain("bob");
  expect(shown).toContain("not⟨U+202E⟩ today");
});

test.each(["pending", "approved", "denied", "expired"] as const)("the state %s has a badge", (state) => {
  expect(renderedText(createElement(ApprovalState, { state }))).toBe(state);
});
