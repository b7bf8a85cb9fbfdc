import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { anApproval, aSelf } from "../../../test/examples.ts";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import type { Question } from "../../acp/connection.ts";
import { toolCallWith } from "../../acp/conversation/tool-call.ts";
import { PENDING } from "../../app/approvals.ts";
import { SignIn } from "../../app/sign-in.tsx";
import { PromptQueue } from "./composer.tsx";
import { Questions } from "./questions.tsx";

const answer = () => undefined;
const permission = (more: Partial<Extract<Question, { kind: "permission" }>> = {}): Question => ({
  kind: "permission",
  id: "1",
  call: toolCallWith(
    undefined,
    { toolCallId: "t", title: "run\u202e make", rawInput: { command: "make" } },
    1,
  ),
  options: [
    { optionId: "yes", name: "Allow\u200b", kind: "allow_once" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ],
  approval: undefined,
  reason: "builds ask",
  answer,
  ...more,
});
const form = (more: Partial<Extract<Question, { kind: "elicitation" }>> = {}): Question => ({
  kind: "elicitation",
  id: "2",
  message: "Which pond?",
  schema: { type: "object", properties: {} },
  url: undefined,
  answer,
  ...more,
});
const asked = (...questions: readonly Question[]) =>
  createElement(SignIn, null, createElement(Questions, { questions }));
const queries = (...approvals: readonly object[]) => cached([["self"], aSelf()], [[...PENDING], approvals]);
const text = (...questions: readonly Question[]) => renderedText(asked(...questions), queries());

describe("the questions of an agent", () => {
  test("are absent if there are none, and shown one at a time", () => {
    expect(text()).toBe("");
    expect(text(permission(), form())).toContain("2 questions wait; this is the oldest.");
    expect(text(permission(), form())).not.toContain("Which pond?");
  });
});

describe("a permission request", () => {
  test("shows title, reason, exact call and options, with hidden characters escaped", () => {
    expect(text(permission())).toBe("Allow? run⟨U+202E⟩ make builds ask $ make Allow⟨U+200B⟩ Reject");
  });

  test("shows its approval, and the answers of that, if it has one", () => {
    const shown = renderedText(asked(permission({ approval: "approval-1" })), queries(anApproval()));
    expect(shown).toContain("runs make (and whatever that runs)");
    expect(shown).toContain("Asked because make runs what the build files say");
    expect(shown).toContain("Allow once Always … Deny …");
    expect(shown).not.toContain("Reject");
  });

  test("offers only the answers that the approval permits", () => {
    const approval = anApproval({ options: ["deny"], unreadable: "a number is too long" });
    const shown = renderedText(asked(permission({ approval: "approval-1" })), queries(approval));
    expect(shown).not.toContain("Allow once");
    expect(shown).not.toContain("Always");
    expect(shown).toContain("Deny …");
  });
});

describe("a form", () => {
  test("has a labelled control for each field", () => {
    const schema = {
      type: "object",
      properties: {
        pond: { type: "string", title: "Pond\u202e", enum: ["north", "south"] },
        frogs: { type: "integer", title: "Frogs", description: "about" },
        wet: { type: "boolean", title: "Wet" },
      },
      required: ["frogs"],
    };
    const html = rendered(asked(form({ schema })), queries());
    expect(html).toMatch(/<label[^>]*>Pond⟨U\+202E⟩<\/label><select/);
    expect(html).toMatch(/<input[^>]*type="number"[^>]*step="1"[^>]*required=""/);
    expect(html).toContain('type="checkbox"');
    expect(html).toContain("about");
  });

  test("that cannot be shown can be declined, but not sent", () => {
    const html = rendered(asked(form({ schema: "?" })), queries());
    expect(html).toContain("This page cannot show the requested form.");
    expect(html).toMatch(/<button type="submit"[^>]*disabled=""/);
    expect(html).toContain("Decline");
  });

  test("links to a web page that the agent asks to open", () => {
    const html = rendered(asked(form({ url: "https://a.test/login" })), queries());
    expect(html).toContain('<a href="https://a.test/login" target="_blank" rel="noreferrer noopener"');
    expect(html).toContain(">Done<");
  });

  test.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    " javascript:alert(1)",
    "//a.test",
  ])("shows the address %j without a link", (url) => {
    const html = rendered(asked(form({ url })), queries());
    expect(html).not.toContain("<a ");
    expect(html).toContain("<code");
  });
});

describe("the queue of prompts", () => {
  const queue = (state: "sent" | "unsure") =>
    renderedText(
      createElement(PromptQueue, { session: "s", waiting: [{ id: "p", text: "say\u200b hi", state }] }),
    );

  test("offers to cancel a queued prompt", () => {
    expect(queue("sent")).toBe("queued say⟨U+200B⟩ hi Cancel");
  });

  test("offers to send an unconfirmed prompt again or discard it", () => {
    expect(queue("unsure")).toBe("unconfirmed say⟨U+200B⟩ hi Send again Discard");
  });

  test("is absent if nothing waits", () => {
    expect(renderedText(createElement(PromptQueue, { session: "s", waiting: [] }))).toBe("");
  });
});
