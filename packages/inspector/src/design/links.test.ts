import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { rendered, renderedText } from "../../test/render.ts";
import { EntryLink, SessionLink, TextLink } from "./markdown.tsx";

describe("a link", () => {
  test("within a text leads to a page", () => {
    const html = rendered(createElement(TextLink, { to: "/approvals" }, "The approval"));
    expect(html).toContain('href="/ui/approvals"');
    expect(html).toContain("text-accent underline");
    expect(html).toContain(">The approval</a>");
  });

  test("to a session has the beginning of its id", () => {
    const id = "b".repeat(64);
    expect(rendered(createElement(SessionLink, { id }))).toContain(`href="/ui/sessions/${id}"`);
    expect(renderedText(createElement(SessionLink, { id }))).toBe("bbbbbbbb…");
    expect(renderedText(createElement(SessionLink, { id, length: 12 }))).toBe("bbbbbbbbbbbb…");
    expect(renderedText(createElement(SessionLink, { id: "pond" }))).toBe("pond");
  });

  test("to a session has hidden characters of its id escaped", () => {
    expect(renderedText(createElement(SessionLink, { id: "po\u202end" }))).toBe("po⟨U+202E⟩nd");
  });

  test("to an entry has the beginning of its content id, or a text", () => {
    const cid = "c".repeat(64);
    const html = rendered(createElement(EntryLink, { cid }));
    expect(html).toContain(`href="/ui/ledger/${cid}"`);
    expect(html).toContain(`title="Entry ${cid}"`);
    expect(html).toContain("font-mono");
    expect(renderedText(createElement(EntryLink, { cid }))).toBe("cccccccccc…");
    expect(renderedText(createElement(EntryLink, { cid }, "in the ledger"))).toBe("in the ledger");
  });
});
