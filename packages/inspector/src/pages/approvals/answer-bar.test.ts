import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { anApproval } from "../../../test/examples.ts";
import { cached, renderedText } from "../../../test/render.ts";
import { AnswerBar, answerKey } from "./answer-bar.tsx";
import { isAnswered, timeLeft } from "./approvals-page.tsx";

const state = {
  mode: "choosing",
  canOnce: true,
  canAlways: true,
  isDone: false,
  isRead: true,
  isTyping: false,
} as const;

describe("the keys of an approval", () => {
  test.each([
    ["a", "allow_once"],
    ["s", "always"],
    ["d", "denying"],
    ["Escape", "choosing"],
    ["x", undefined],
    ["A", undefined],
    ["", undefined],
  ])("%j does %s", (key, action) => {
    expect(answerKey(key, state)).toBe(action);
  });

  test("give no answer that the approval does not offer", () => {
    expect(answerKey("a", { ...state, canOnce: false })).toBeUndefined();
    expect(answerKey("s", { ...state, canAlways: false })).toBeUndefined();
    expect(answerKey("d", { ...state, canOnce: false, canAlways: false })).toBe("denying");
  });

  test.each(["a", "s", "d"])("do nothing for %s before the approval can be read", (key) => {
    expect(answerKey(key, { ...state, isRead: false })).toBeUndefined();
  });

  test.each(["a", "s", "d"])("do nothing for %s while a text is typed or another mode is open", (key) => {
    expect(answerKey(key, { ...state, isTyping: true })).toBeUndefined();
    expect(answerKey(key, { ...state, mode: "always" })).toBeUndefined();
    expect(answerKey(key, { ...state, mode: "denying" })).toBeUndefined();
  });

  test("leave a mode with Escape, also from its input", () => {
    expect(answerKey("Escape", { ...state, mode: "denying", isTyping: true })).toBe("choosing");
    expect(answerKey("Escape", { ...state, mode: "always", isRead: false })).toBe("choosing");
  });

  test.each(["a", "s", "d", "Escape"])("do nothing for %s after the answer was sent", (key) => {
    expect(answerKey(key, { ...state, isDone: true })).toBeUndefined();
  });
});

test("the bar offers what the approval permits", () => {
  const bar = (options: ("allow_once" | "allow_always" | "deny")[]) =>
    renderedText(createElement(AnswerBar, { approval: anApproval({ options }) }), cached());
  expect(bar(["allow_once", "allow_always", "deny"])).toBe("Allow once Always … Deny …");
  expect(bar(["allow_once", "deny"])).toBe("Allow once Deny …");
  expect(bar(["deny"])).toBe("Deny …");
});

describe("the approval that an address names", () => {
  const pending = [{ id: "p-1" }, { id: "p-2" }];

  test("is answered if it is not pending", () => {
    expect(isAnswered("p-3", pending, new Set())).toBe(true);
    expect(isAnswered("p-3", [], new Set())).toBe(true);
  });

  test("is not answered while it is pending, nor if there is none", () => {
    expect(isAnswered("p-2", pending, new Set())).toBe(false);
    expect(isAnswered(undefined, pending, new Set())).toBe(false);
  });

  test("stays in the list if it was pending when the page opened, where its answer was given", () => {
    expect(isAnswered("p-3", pending, new Set(["p-3"]))).toBe(false);
  });
});

describe("the time to answer", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");

  test.each([
    ["2026-01-01T00:05:00Z", "5 min left", "neutral"],
    ["2026-01-01T00:00:59Z", "59 s left", "bad"],
    ["2026-01-01T00:00:00Z", "expired", "bad"],
    ["2025-12-31T00:00:00Z", "expired", "bad"],
  ])("until %s is %s", (until, text, tone) => {
    expect(timeLeft(until, now)).toEqual({ text, tone });
  });
});
