import type { Session } from "@reins/api";
import { createElement } from "react";
import { expect, test } from "vitest";
import { aSession } from "../../../test/examples.ts";
import { rendered, renderedText } from "../../../test/render.ts";
import { SessionActions, StateBadge } from "./session-actions.tsx";
import { sessionTitle } from "./sessions.ts";

const badge = (session: Partial<Session>, pending = 0) =>
  createElement(StateBadge, { session: aSession(session), pending });
const ended = {
  reason: "terminated",
  terminated_by: "daemon",
  message: "by the operator",
  at: "2026-01-01T00:00:00.000Z",
} as const;

test.each([
  [{}, 0, "idle"],
  [{ agent_runs: false }, 0, "resting"],
  [{ state: "running" }, 0, "running"],
  [{ state: "running" }, 2, "waiting"],
  [{ ended }, 2, "terminated"],
] as const)("the state of %j with %d pending approvals is %s", (session, pending, text) => {
  expect(renderedText(badge(session, pending))).toBe(text);
});

test("the state of an ended session has the message as its title", () => {
  expect(rendered(badge({ ended }))).toContain('title="by the operator"');
  expect(rendered(badge({ ended: { ...ended, message: undefined } }))).toContain(
    'title="the session has ended"',
  );
});

test("an ended session can be forked, but not stopped or ended", () => {
  const actions = (session: Partial<Session>) =>
    renderedText(createElement(SessionActions, { session: aSession(session), canStop: true }));
  expect(actions({ state: "running" })).toContain("Stop");
  expect(actions({ state: "running" })).toContain("End");
  expect(actions({ state: "idle" })).not.toContain("Stop");
  expect(actions({ ended })).not.toMatch(/Stop|End/);
});

test("a session without a title is named by its id, and a title has its hidden characters escaped", () => {
  expect(sessionTitle({ id: "0123456789" })).toBe("Session 01234567");
  expect(sessionTitle({ id: "0123456789", title: "frogs\u202e" })).toBe("frogs⟨U+202E⟩");
});
