import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { aSelf } from "../../../test/examples.ts";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import { type ToolCall, toolCallWith } from "../../acp/conversation/tool-call.ts";
import { SignIn } from "../../app/sign-in.tsx";
import { ToolCard } from "./tool-card.tsx";

function aCall(update: object = {}, at?: number): ToolCall {
  const call = toolCallWith(undefined, { toolCallId: "t", title: "Read a", ...update }, at);
  if (!call) throw new Error("no call");
  return call;
}
const card = (call: ToolCall, isOpen = false) =>
  createElement(ToolCard, { call, isOpen, onToggle: () => undefined });
const verdict = (reins: object) => ({ _meta: { reins } });

describe("a closed card", () => {
  test("has title, verdict and status", () => {
    const call = aCall({ status: "in_progress", ...verdict({ verdict: "allowed" }) });
    expect(renderedText(card(call))).toBe("Read a allowed in progress");
    expect(rendered(card(call))).toContain('aria-expanded="false"');
  });

  test.each([
    [{ verdict: "allowed", approval: "p" }, "asked, allowed"],
    [{ verdict: "blocked", approval: "p" }, "asked, blocked"],
    [{ verdict: "ask", approval: "p" }, "ask"],
    [{ verdict: "allowed", ungated: true }, "ungated"],
  ])("labels the verdict %j as %s", (reins, label) => {
    expect(renderedText(card(aCall(verdict(reins))))).toContain(label);
  });

  test("names the sub-agent whose call it is", () => {
    const by = { verdict: "allowed", subagent: "a7", subagent_type: "Explore" };
    expect(renderedText(card(aCall(verdict(by))))).toContain("by Explore");
    expect(renderedText(card(aCall(verdict({ ...by, subagent_type: "" }))))).toContain("by a7");
  });

  test("shows the reason of a blocked call instead of status and duration", () => {
    const call = aCall(
      { status: "failed", ...verdict({ verdict: "blocked", reason: "not\u202e for agents" }) },
      1,
    );
    expect(renderedText(card(call))).toBe("Read a blocked not⟨U+202E⟩ for agents");
  });

  test("shows how long a call took, and nothing for a replayed one", () => {
    const ended = toolCallWith(aCall({}, 1_000), { toolCallId: "t", status: "completed" }, 3_500);
    expect(ended && renderedText(card(ended))).toBe("Read a 2.5 s completed");
    expect(renderedText(card(aCall({ status: "completed" })))).toBe("Read a completed");
  });
});

describe("an open card", () => {
  test("shows arguments and output", () => {
    const content = [{ type: "content", content: { type: "text", text: "3 frogs" } }];
    const call = aCall({ rawInput: { command: "ls" }, content });
    expect(renderedText(card(call, true))).toBe("Read a pending $ ls 3 frogs");
  });

  test("shows a diff instead of the arguments that describe it", () => {
    const content = [{ type: "diff", path: "a", oldText: "x", newText: "y" }];
    const call = aCall({ rawInput: { path: "a", old_text: "x", new_text: "y" }, content });
    expect(renderedText(card(call, true))).toBe("Read a pending a − x + y");
  });

  test("cuts a long output in the middle and says how much is missing", () => {
    const text = `begin${"x".repeat(30_000)}end`;
    const call = aCall({ content: [{ type: "content", content: { type: "text", text } }] });
    const shown = renderedText(card(call, true));
    expect(shown).toContain("begin");
    expect(shown).toContain(`… ${text.length - 20_000} characters …`);
    expect(shown).toMatch(/end$/);
  });

  test("explains the verdict with rule, reason and a link to the entry", () => {
    const entry = "c".repeat(64);
    const call = aCall(verdict({ verdict: "allowed", rule: "reads", reason: "fine", entry, approval: "p" }));
    const html = rendered(createElement(SignIn, null, card(call, true)), cached([["self"], aSelf()]));
    for (const text of ["reads", "fine", "after an approval"]) expect(html).toContain(text);
    expect(html).toContain(`href="/ui/ledger/${entry}"`);
  });

  test("offers the raw result only if there is one", () => {
    expect(renderedText(card(aCall({ rawOutput: { a: 1 } }), true))).toContain("Raw result");
    expect(renderedText(card(aCall({ rawOutput: null }), true))).not.toContain("Raw result");
  });
});
