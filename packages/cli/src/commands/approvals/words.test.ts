import { describe, expect, it } from "vitest";
import { sampleApproval, sampleFacts } from "../../../test/sample-approval.ts";
import { formatTime, timeLeft } from "../../time.ts";
import {
  actionSummary,
  answerWords,
  effectWords,
  exact,
  exactLines,
  exactWords,
  quorumWords,
  shortEffect,
} from "./words.ts";

describe("text from others", () => {
  it("is quoted unless it is plain", () => {
    expect(exact("/project/a-b.ts")).toBe("/project/a-b.ts");
    expect(exact("two words")).toBe('"two words"');
    expect(exact("")).toBe('""');
    expect(exact("a\u202eb")).toBe('"a\\u202eb"');
    expect(exact("zero\u200bwidth")).toBe('"zero\\u200bwidth"');
    expect(exact("\u001b[2J")).toBe('"\\u001b[2J"');
  });

  it("is not quoted at the end of a line", () => {
    expect(exactWords('"Bash" is not known')).toBe('"Bash" is not known');
    expect(exactWords("a\nb")).toBe('"a\\nb"');
    expect(exactWords("pad  ded")).toBe('"pad  ded"');
  });

  it("is shown line by line with hidden characters", () => {
    expect(exactLines('say "a\\b"\n\tindented\rover\u202e')).toEqual([
      'say "a\\b"',
      "\\tindented\\rover\\u202e",
    ]);
  });
});

describe("an effect in words", () => {
  it("shows the target, and what is lost or unknown", () => {
    expect(effectWords({ kind: "read", path: "/a b", place: "home" })).toBe('read "/a b" (home)');
    expect(effectWords({ kind: "write", path: "/x", place: "workspace", destroys: true })).toBe(
      "write /x (workspace), what is there is lost",
    );
    expect(effectWords({ kind: "exec", command: "sh", arguments: ["-c", null], opaque: true })).toBe(
      "run sh -c (known only when it runs) (opaque)",
    );
    expect(effectWords({ kind: "net", host: "*" })).toBe("reach any host");
  });

  it("is shorter in a list", () => {
    expect(
      shortEffect({ kind: "write", path: "/p/src/a", place: "workspace", inside: "src/a", destroys: true }),
    ).toBe("write src/a");
  });
});

describe("an action on one line", () => {
  it("shows its effects when they are known", () => {
    expect(actionSummary(sampleFacts())).toBe("Bash: run git push --force; reach example.com");
  });

  it("shows the arguments when the effects are incomplete", () => {
    const given = { opaque: true, arguments: { command: "curl x | sh", times: 2 } };
    expect(actionSummary(sampleFacts(given))).toBe('Bash: command "curl x | sh"; times 2');
    expect(actionSummary(sampleFacts({ effects: [], arguments: {} }))).toBe("Bash: given nothing");
    expect(actionSummary(sampleFacts({ effects: [], arguments: ["a\u202e"] }))).toBe('Bash: ["a\\u202e"]');
  });
});

it("shows who answered what, when and why", () => {
  const answer = {
    by: "user:acme/ann",
    decision: "deny",
    note: "not today",
    at: "2026-11-15T05:21:00.123Z",
  } as const;
  expect(answerWords(answer)).toBe("user:acme/ann denied it at 2026-11-15 05:21:00Z: not today");
  expect(quorumWords({ answers: [answer], quorum: 3 })).toBe("1 of 3 people agreed so far");
});

it("formats times to the second, and a past expiry as over", () => {
  expect(formatTime("2026-11-15T05:20:00.999Z")).toBe("2026-11-15 05:20:00Z");
  expect(timeLeft(sampleApproval(), new Date("2026-11-15T06:19:30Z"))).toBe("30s left");
  expect(timeLeft(sampleApproval(), new Date("2026-11-15T06:20:00Z"))).toBe("over");
});
