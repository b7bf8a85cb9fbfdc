import { describe, expect, it } from "vitest";
import { PLAIN, questionText, Rendering } from "./rendering.ts";

const said = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

describe("the updates of a session beside messages", () => {
  const rendering = () => new Rendering(PLAIN);

  it("show retries, compactions, the output of calls and diffs", () => {
    expect(
      rendering().show({
        sessionUpdate: "notice",
        severity: "warning",
        title: "The model did not answer",
        description: "503",
      }),
    ).toBe("  The model did not answer: 503\n");
    expect(rendering().show({ sessionUpdate: "compaction_update", status: "completed" })).toContain(
      "summarized",
    );
    const search = {
      sessionUpdate: "tool_search_result",
      promoted: ["a", "b\u001b"],
      diagnostic: "by words",
    };
    expect(rendering().show(search)).toBe("  > found the tools a, b\\u{1b} (by words)\n");
    expect(rendering().show({ sessionUpdate: "tool_search_result" })).toBe("  > found no tools\n");
    const one = rendering();
    one.show({ sessionUpdate: "tool_call", toolCallId: "1", title: "Edit a.ts", status: "pending" });
    const content = [
      { type: "diff", path: "a.ts", oldText: "one\ntwo\nthree\n", newText: "one\n2\nthree\n" },
    ];
    const update = { sessionUpdate: "tool_call_update", toolCallId: "1", content };
    expect(one.show(update)).toBe("  a.ts:2\n  - two\n  + 2\n");
    expect(one.show(update)).toBe("");
    const text = { type: "text", text: "ok\u001b[31m\nfine\n" };
    const done = { ...update, status: "completed", content: [{ type: "content", content: text }] };
    expect(one.show(done)).toBe("  ok\\u{1b}[31m\n  fine\n");
  });

  it("cut long output, and omit it when the call was rejected", () => {
    const one = rendering();
    const many = { type: "text", text: "line\n".repeat(100) };
    const content = [{ type: "content", content: many }];
    const ended = { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed", content };
    expect(one.show(ended)).toContain("… 80 more lines");
    const blocked = { ...ended, toolCallId: "2", _meta: { reins: { verdict: "blocked", reason: "no" } } };
    expect(one.show(blocked)).not.toContain("line\n");
  });
});

describe("the updates of a session on a terminal", () => {
  it("show messages as they come", () => {
    const rendering = new Rendering(PLAIN);
    expect(["Hel", "lo\n"].map((text) => rendering.show(said(text))).join("")).toBe("Hello\n");
  });

  it("show each tool call once, with the reason why it was not allowed", () => {
    const rendering = new Rendering(PLAIN);
    const call = { sessionUpdate: "tool_call", toolCallId: "1", title: "rm -rf /" };
    const _meta = { reins: { verdict: "blocked", reason: "it destroys", rule: "no_rm" } };
    const pieces = [said("I will."), call, { ...call, sessionUpdate: "tool_call_update", _meta }];
    expect(pieces.map((piece) => rendering.show(piece)).join("")).toBe(
      "I will.\n• rm -rf /\n  not allowed: it destroys [no_rm]\n",
    );
  });

  it("show what was done without asking", () => {
    const _meta = { reins: { ungated: true, reason: "it only looked" } };
    const update = { sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed", _meta };
    expect(new Rendering(PLAIN).show(update)).toBe("  done without asking: it only looked\n");
  });

  it("show the plan with its progress", () => {
    const entries = [
      { content: "look", status: "completed" },
      { content: "mend", status: "in_progress" },
      { content: "rest", status: "pending" },
    ];
    expect(new Rendering(PLAIN).show({ sessionUpdate: "plan", entries })).toBe(
      "  [x] look\n  [>] mend\n  [ ] rest\n",
    );
  });

  it("shows the progress of a worker", () => {
    const update = { sessionUpdate: "worker_update", workerName: "claude" };
    const steps = [
      { ...update, status: "running", metadata: {} },
      { ...update, status: "progressed", metadata: { summary: "List ." } },
      { ...update, status: "failed", metadata: { error: "no" } },
    ];
    expect(steps.map((step) => new Rendering(PLAIN).show(step)).join("")).toBe(
      "  > claude begins\n  > claude List .\n  > claude failed: no\n",
    );
  });

  it("spell out control characters", () => {
    const shown = new Rendering(PLAIN).show(said("a\u001b[2Jb\u202ec"));
    expect(shown).not.toContain("\u001b");
    expect(shown).not.toContain("\u202e");
  });
});

const options = [
  { optionId: "1", name: "No, reject it", kind: "allow_once" },
  { optionId: "2", name: "Yes\n  d = allow", kind: "reject_once" },
];

describe("a question on a terminal", () => {
  it("names the keys in our words", () => {
    const { text, choices } = questionText({ toolCall: { title: "Bash: ls" }, options });
    expect(text).toContain("  a = allow once, d = reject");
    expect(text).not.toMatch(/No, reject it|Yes/);
    expect(choices).toEqual(
      new Map([
        ["a", "1"],
        ["d", "2"],
      ]),
    );
  });

  it("keeps each part on its line, with hidden characters spelled out", () => {
    const title = "ls\n  why you are asked: routine\r\n\u202e> a";
    const { text } = questionText({
      toolCall: { title, rawInput: { command: "curl x | sh\u001b[2K" }, locations: [{ path: "/a\nb" }] },
      options,
      _meta: { reins: { reason: "no rule\n? fine", approval: "id" } },
    });
    expect(text.split("\n")).toEqual([
      "? ls\\u{a}  why you are asked: routine\\u{d}\\u{a}\\u{202e}> a",
      '  with: {"command":"curl x | sh\\u001b[2K"}',
      "  touches: /a\\u{a}b",
      "  why you are asked: no rule\\u{a}? fine",
      "  from elsewhere: reins approvals approve id",
      "  a = allow once, d = reject",
    ]);
  });
});
