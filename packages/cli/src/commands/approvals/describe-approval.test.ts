import { describe, expect, it } from "vitest";
import { sampleApproval, sampleFacts } from "../../../test/sample-approval.ts";
import { describeApproval, outcomeWords } from "./describe-approval.ts";
import { argumentLines, changedLines, sheet } from "./sheet.ts";

const NOW = new Date("2026-11-15T05:25:00Z");

describe("an approval that is shown", () => {
  it("shows who asks for what and why, what an answer applies to, and the time left", () => {
    const approval = sampleApproval({
      chain: ["lead", "helper"],
      facts: sampleFacts({
        effects: [
          { kind: "exec", command: "make", arguments: [], opaque: true },
          { kind: "write", path: "/project/out", place: "workspace", destroys: true },
        ],
        opaque: true,
        doubts: ["make runs what the build files say"],
        claims: { title: "tidy up" },
      }),
      target_state: { "/project/out": "absent" },
    });
    expect(describeApproval(approval, NOW, 80)).toBe(`approval   apr_aaaabbbbccccddddeeeeff
state      waits, 55m left; one person decides; asked 5m ago, 2026-11-15
             05:20:00Z
           until 2026-11-15 06:20:00Z
asks       agent claude, begun by lead, which began helper
for        user ann of tenant acme, in session s1
why        pushing is seen by others
           rule ask_first
tool       Bash (pre_action)
given      command: "git push --force"
does       run make (opaque)
           write /project/out (workspace), what is there is lost
           and may do more than could be determined
           not known: make runs what the build files say
in         /project
           /project/out is now absent
it says    title: tidy up
held       the agent asked and is expected to obey the answer; nothing else
             enforces it
once       exactly this, one time: the same agent, user and session, in the same
             folder, as long as the files are what they are now
always     exactly this whenever claude does it for ann in /project, in any
             session, until the grant is revoked or a file it depends on
             changes; the same effects, and where they do not say all, the same
             arguments
binding    ${"ab".repeat(32)}
`);
  });

  it("shows the answers, and that always is not available", () => {
    const answers = [
      { by: "user:acme/ann", decision: "allow_once" as const, at: "2026-11-15T05:21:00.000Z" },
    ];
    const text = describeApproval(
      sampleApproval({ state: "used", answers, options: ["allow_once", "deny"] }),
      NOW,
      80,
    );
    expect(text).toContain("state      approved and used; asked 5m ago");
    expect(text).toContain("user:acme/ann allowed it once at 2026-11-15 05:21:00Z\n");
    expect(text).not.toContain("until");
    expect(text).toContain("always     not available");
  });

  it("reports that it cannot be shown exactly, and what can be answered then", () => {
    const text = describeApproval(sampleApproval({ unreadable: "its key is missing" }), NOW, 100);
    expect(text).toContain("cannot be shown exactly, so it can only be denied: its key is missing\n");
  });

  it("begins no line with text from others", () => {
    const hostile = `x\nwhy        it is fine\r\u001b[2K${" ".repeat(64)}state      approved`;
    const approval = sampleApproval({
      agent: hostile,
      session: hostile,
      cwd: hostile,
      reason: hostile,
      facts: sampleFacts({ tool: hostile, arguments: { command: hostile, [hostile]: 1 }, doubts: [hostile] }),
      target_state: { [hostile]: hostile },
    });
    const lines = describeApproval(approval, NOW, 80).split("\n");
    const labels = lines.map((line) => line.slice(0, 9).trim()).filter((label) => label !== "");
    expect(labels.join()).toBe("approval,state,asks,for,why,tool,given,does,in,held,once,always,binding");
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines.join("")).not.toMatch(/\p{Cc}/u);
  });
});

describe("the arguments of a tool", () => {
  it("are shown completely, member by member", () => {
    expect(argumentLines({ command: "ls\n-la", timeout: 5, list: ["a", "b c"], empty: {} })).toEqual([
      "command:",
      "  | ls",
      "  | -la",
      "timeout: 5",
      'list: ["a","b c"]',
      "empty: {}",
    ]);
    expect(argumentLines(undefined)).toEqual([]);
    expect(argumentLines("one\ntwo")).toEqual(["text:", "  | one", "  | two"]);
    expect(argumentLines({})).toEqual(["{}"]);
  });

  it("are shown as a diff for a replacement", () => {
    const edits = [
      { old_string: "a\nb", new_string: "a\nc" },
      { old_string: "", new_string: "new\u202e" },
    ];
    expect(argumentLines({ file_path: "/x", edits })).toEqual([
      "file_path: /x",
      "edits[0].old_string → new_string:",
      "  |   a",
      "  | - b",
      "  | + c",
      "edits[1].old_string → new_string:",
      "  | + new\\u202e",
    ]);
  });

  it("are shown as JSON when they are nested too deep", () => {
    const deep = Array.from({ length: 9 }).reduce<unknown>((inner) => ({ a: inner }), 1);
    expect(argumentLines(deep)).toEqual(['a.a.a.a.a.a.a: {"a":{"a":1}}']);
  });
});

it("shows every line of a diff", () => {
  expect(changedLines("1\n2\n3\n4", "1\nx\ny\n4")).toEqual(["   1", " - 2", " - 3", " + x", " + y", "   4"]);
  expect(changedLines("a\na", "a")).toEqual(["   a", " - a"]);
  expect(changedLines("a", "")).toEqual([" - a"]);
  expect(changedLines("same", "same")).toEqual(["   same"]);
});

it("folds long lines, and keeps the bar of a block", () => {
  const rows = [
    { label: "given", lines: ["one two three four", "  | a-long-line-of-a-block", "日本語日本語日本語"] },
  ];
  expect(sheet(rows, 31)).toBe(
    [
      "given      one two three four",
      "             | a-long-line-of-a",
      "             ¦   -block",
      "           日本語日本語日本語",
      "",
    ].join("\n"),
  );
  expect(sheet(rows, 10).split("\n")).toContain("             ¦   -block");
});

const WHAT = "  claude for ann, Bash: run git push --force; reach example.com\n";

describe("the outcome of an answer", () => {
  it("shows what was allowed, and for how long", () => {
    const approved = sampleApproval({ state: "approved" });
    expect(outcomeWords(approved, "allow_once")).toBe(
      `allowed once  ${approved.id}\n${WHAT}  It is allowed now if the agent waits, else when it asks again, until 2026-11-15 06:20:00Z.\n`,
    );
    expect(outcomeWords(approved, "allow_always")).toBe(
      `allowed always  ${approved.id}\n${WHAT}  The same is allowed from now on; see reins approvals grants.\n`,
    );
  });

  it("shows what was denied, and what waits for others", () => {
    expect(outcomeWords(sampleApproval({ state: "denied" }), "deny")).toMatch(/^denied {2}apr_/);
    expect(outcomeWords(sampleApproval({ quorum: 2 }), "allow_once")).toContain(
      ": 0 of 2 people agreed so far\n",
    );
  });
});
