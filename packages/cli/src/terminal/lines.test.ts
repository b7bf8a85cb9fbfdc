import { visibleWidth } from "@earendil-works/pi-tui";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampleApproval, sampleFacts } from "../../test/sample-approval.ts";
import { liveLines, type PageSize, partLines, statusLine } from "./lines.ts";
import { closedPart, markdownLines } from "./markdown.ts";
import { EMPTY_STATE, type FinishedPart } from "./state.ts";
import { COLOUR_STYLE, guarded, PLAIN_STYLE, prose } from "./text.ts";
import type { CallView } from "./update-views.ts";

const page = (width = 60): PageSize => ({
  width,
  style: PLAIN_STYLE,
  now: () => new Date("2026-11-15T05:20:30Z"),
});
const call: CallView = {
  ...{ id: "t", title: "Write a.txt", status: "completed", isOver: true },
  content: [{ kind: "diff", path: "a.txt", before: "one\ntwo\nthree", after: "one\n2\nthree" }],
  verdict: {
    verdict: "allowed",
    rule: "work",
    reason: undefined,
    enforcement: "asked",
    ungated: undefined,
    outcome: undefined,
  },
};
const verdict = (members: object): CallView => ({
  ...call,
  verdict: { ...call.verdict, verdict: "allowed", ...members } as never,
});

/** Any text, with many characters that a terminal obeys. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "\u001b[2J",
        "\u001b]0;x\u0007",
        "\u009b",
        "\u202e",
        "漢",
        "👨‍👩‍👧",
        "e\u0301",
        "\t",
        "\r\n",
        "`",
        "|a|b|\n|-|-|\n",
        "- ",
        "&#27;[1m",
      ),
    ),
  )
  .map((parts) => parts.join(""));
// biome-ignore lint/suspicious/noControlCharactersInRegex: changes of the look begin with it.
const LOOK = /\u001b\[[\d;]*m/g;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

describe("the lines of a part", () => {
  it("of a tool call have its verdict and its diff", () => {
    expect(partLines({ kind: "tool", call }, page())).toEqual([
      "",
      "✓ Write a.txt",
      "  allowed [work], asked",
      "  a.txt:2",
      "    one",
      "  - two",
      "  + 2",
      "    three",
    ]);
  });

  it.each([
    [
      verdict({ verdict: "blocked", reason: "no writing" }),
      ["✗ Write a.txt", "  not allowed: no writing [work]"],
    ],
    [
      verdict({ ungated: true, reason: "it did not ask" }),
      ["! Write a.txt", "  done without asking: it did not ask [work]"],
    ],
    [{ ...call, verdict: undefined }, ["✓ Write a.txt", "  no verdict"]],
    [
      { ...call, isOver: false, status: "in_progress", content: [] },
      ["• Write a.txt", "  allowed [work], asked", "  did not end"],
    ],
  ])("of a call say what became of it: %#", (one, lines) => {
    expect(partLines({ kind: "tool", call: one }, page()).slice(1, 1 + lines.length)).toEqual(lines);
  });

  it("of a question are those of the approval, exactly", () => {
    const approval = sampleApproval({ facts: sampleFacts({ arguments: { command: "rm \u202e-rf" } }) });
    const part: FinishedPart = {
      kind: "question",
      question: { key: "a", session: "s", call: "t", approval },
    };
    const lines = partLines(part, page(80));
    expect(lines.slice(0, 2)).toEqual(["", "? Permission needed"]);
    expect(lines).toContain('given      command: "rm \\u202e-rf"');
    expect(lines.join(" ")).toContain(approval.binding);
  });

  it("of a question never continue at the margin, however narrow the page is", () => {
    const approval = sampleApproval({ cwd: "/a/very/long/path/of/a/folder/that/does/not/fit" });
    const part: FinishedPart = {
      kind: "question",
      question: { key: "a", session: "s", call: "t", approval },
    };
    const [, , ...lines] = partLines(part, page(24));
    const labels = /^(?: |$|approval|state|asks|for|why|tool|given|does|in|it says|held|once|always|binding)/;
    expect(lines.filter((line) => !labels.test(line))).toEqual([]);
  });

  it("of long output are its beginning and its end", () => {
    const text = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
    const lines = partLines({ kind: "tool", call: { ...call, content: [{ kind: "text", text }] } }, page());
    expect(lines.slice(3)).toEqual([
      ...[0, 1, 2, 3, 4, 5].map((n) => `  line ${n}`),
      "  … 88 more lines",
      ...[94, 95, 96, 97, 98, 99].map((n) => `  line ${n}`),
    ]);
  });

  it("are never wider than the page, and hold nothing hidden but changes of the look", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 12, max: 100 }), fc.boolean(), (text, width, isColoured) => {
        const style = isColoured ? COLOUR_STYLE : PLAIN_STYLE;
        const parts: FinishedPart[] = [
          { kind: "prompt", text },
          { kind: "message", from: "agent", text, isStart: true },
          { kind: "note", tone: "bad", text },
          { kind: "plan", steps: [{ content: text, status: "pending" }] },
          {
            kind: "tool",
            call: {
              ...call,
              title: text,
              content: [
                { kind: "text", text },
                { kind: "diff", path: text, before: text, after: `${text}x` },
              ],
            },
          },
        ];
        for (const line of parts.flatMap((part) => partLines(part, { ...page(width), style }))) {
          expect(visibleWidth(line)).toBeLessThanOrEqual(width);
          expect(line.replace(LOOK, "")).not.toMatch(HIDDEN);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("a long prompt", () => {
  it("shows its beginning and its end", () => {
    const text = Array.from({ length: 10_000 }, (_, line) => `line ${line}`).join("\n");
    const lines = partLines({ kind: "prompt", text }, page());
    expect(lines).toHaveLength(42);
    expect([lines[1], lines[21], lines.at(-1)]).toEqual(["› line 0", "  … 9960 more lines", "  line 9999"]);
  });
});

describe("the live lines", () => {
  it("show running calls, the queue and how the question is answered", () => {
    const question = { key: "a", session: "s", call: "t", approval: sampleApproval() };
    const state = {
      ...EMPTY_STATE,
      tools: [call],
      queue: [{ id: "q", text: "then this" }],
      questions: [question],
    };
    expect(liveLines(state, page(), 20)).toEqual([
      "",
      "• Write a.txt asks for permission",
      "",
      "queued  then this",
      "",
      "? An agent waits for you. Tab answers the question above",
    ]);
    expect(liveLines({ ...state, isAnswering: true }, page(80), 20).at(-1)).toBe(
      "? [a] allow once  [A] allow always  [d] deny  [s] later  [Esc] back",
    );
  });

  it("show nothing of an agent between a question and its answer but the call that is asked about", () => {
    const text = "? Permission needed\n\n".repeat(40);
    const other = { ...call, id: "other", title: "? Permission needed" };
    const state = {
      ...EMPTY_STATE,
      message: { from: "agent" as const, text, isStart: true },
      tools: [other, call, { ...other, id: "third" }],
      plan: [{ content: text, status: "pending" }],
      questions: [{ key: "a", session: "s", call: "t", approval: sampleApproval() }],
    };
    expect(liveLines(state, page(), 20)).toEqual([
      "",
      "• Write a.txt asks for permission",
      "",
      "? An agent waits for you. Tab answers the question above",
    ]);
  });

  it("say on a narrow screen, too, how the question is answered", () => {
    const questions = [{ key: "a", session: "s", call: "t", approval: sampleApproval() }];
    const lines = liveLines({ ...EMPTY_STATE, questions }, page(40), 20);
    expect(lines.join(" ").replaceAll(/ +/g, " ")).toContain("Tab answers the question above");
  });

  it("offer only the answers that may be given", () => {
    const approval = sampleApproval({ options: ["deny"] });
    const state = {
      ...EMPTY_STATE,
      questions: [{ key: "a", session: "s", call: "t", approval }],
      isAnswering: true,
    };
    expect(liveLines(state, page(), 20).at(-1)).toBe("? [d] deny  [s] later  [Esc] back");
  });

  it("end with a status that fits", () => {
    const session = { id: "1", agent: "native", cwd: "/w", title: undefined, enforcement: "performed" };
    const state = {
      ...EMPTY_STATE,
      session,
      usage: { used: 1_500, size: 32_000 },
      cost: { amount: 0.0123, currency: "USD" },
    };
    expect(statusLine(state, page(100))).toBe(
      "ready · native · 1.5k/32.0k · $0.0123 · verdicts performed · /help",
    );
    expect(visibleWidth(statusLine(state, page(20)))).toBeLessThanOrEqual(20);
    expect(statusLine(EMPTY_STATE, page())).toBe("starting · /help");
  });
});

describe("text of an agent", () => {
  it.each([
    ["\u001b]0;title\u0007", "\\u{1b}]0;title\\u{7}"],
    ["a\u202eb\u200bc", "a\\u{202e}b\\u{200b}c"],
    ["👨‍👩‍👧 ❤️ 👍🏽", "👨👩👧 ❤ 👍"],
    ["z\u0301\u0302\u0303\u0304\u0305", "z\u0301\u0302\u0303"],
    ["one\r\ntwo\tthree", "one\ntwo    three"],
  ])("%j is shown as %j", (text, shown) => {
    expect(prose(text)).toBe(shown);
  });

  it("is guarded at the terminal: only changes of the look pass", () => {
    expect(guarded("\u001b[31mred\u001b[0m")).toBe("\u001b[31mred\u001b[0m");
    expect(guarded("\u001b[31mred\u001b[2J\u202e\u001b[0m")).toBe(
      "\u001b[31mred\\u{1b}[2J\\u{202e}\u001b[0m",
    );
  });

  it("in Markdown shows where links lead, and draws none", () => {
    expect(markdownLines("see [here](https://evil.example)", 60, COLOUR_STYLE).join("")).not.toContain(
      "\u001b]",
    );
    expect(markdownLines("see [here](https://evil.example)", 60, PLAIN_STYLE)).toEqual([
      "see here (https://evil.example)",
    ]);
  });

  it.each([
    ["one\n\ntwo", 5],
    ["one\ntwo", 0],
    ["```\none\n\ntwo", 0],
    ["```\none\n```\ntwo", 12],
    ["x".repeat(9_000), 9_000],
  ])("closes what cannot change any more: %#", (text, end) => {
    expect(closedPart(text)).toBe(end);
  });
});
