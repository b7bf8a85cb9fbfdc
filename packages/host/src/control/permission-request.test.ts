import { type JsonObject, membersOf } from "@reins/acp";
import type { Approval } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import {
  CANCELLED,
  optionsIn,
  outcomeOf,
  permissionRequest,
  readChoice,
  redactedQuestion,
} from "./permission-request.ts";

const OPTIONS = [
  { optionId: "1", kind: "allow_always", name: "Always" },
  { optionId: "2", kind: "allow_once", name: "Once" },
  { optionId: "3", kind: "reject_once", name: "No" },
];
const selected = (optionId: unknown) => ({ outcome: { outcome: "selected", optionId } });

describe("an agent's options", () => {
  test("are chosen by kind, never by id or by order", () => {
    const options = optionsIn({ options: OPTIONS });
    expect(outcomeOf(options, "allow_once")).toEqual(selected("2"));
    expect(outcomeOf(options, "reject_always", "reject_once")).toEqual(selected("3"));
    expect(
      outcomeOf(optionsIn({ options: [{ optionId: "allow_once", kind: "reject_once" }] }), "allow_once"),
    ).toBe(undefined);
  });

  test.each([
    undefined,
    null,
    {},
    { options: "all" },
    { options: [null, 1, { optionId: 1, kind: "allow_once" }] },
  ])("are none in %j", (params) => expect(optionsIn(params)).toEqual([]));
});

describe("a client's answer", () => {
  test.each([
    ["a choice", selected("2"), "chosen"],
    ["a choice that was not offered", selected("9"), "not_offered"],
    ["a choice without an id", selected(undefined), "chosen"],
    ["a grant", { granted: true }, "chosen"],
    ["a denial", { granted: false }, "chosen"],
    ["a cancel", CANCELLED, "cancelled"],
    ["nothing", {}, "nothing"],
    ["no object", "allow_once", "nothing"],
  ])("that is %s is read as such", (_, answer, read) => {
    expect(readChoice({ options: OPTIONS }, answer)).toBe(read);
  });
});

const approval = (more: object = {}, facts: object = {}) =>
  ({
    id: "a",
    tool: "Bash",
    rule: "ask_first",
    reason: "a rule asks",
    expires_at: "2026-01-01",
    options: ["allow_once", "allow_always", "deny"],
    facts: { tool: "Bash", effects: [], opaque: false, doubts: [], arguments: { command: "ls" }, ...facts },
    ...more,
  }) as unknown as Approval;
const callIn = (params: JsonObject) => membersOf(params.toolCall);
const textIn = (params: JsonObject) => JSON.stringify(callIn(params).content);

describe("a permission request for an approval", () => {
  test("shows the approval, and only the id of the agent's call", () => {
    const params = permissionRequest("s", "call-1", approval());
    expect(params).toMatchObject({
      sessionId: "s",
      toolCall: {
        toolCallId: "call-1",
        name: "Bash",
        title: "Bash: ls",
        status: "pending",
        rawInput: { command: "ls" },
      },
      _meta: { reins: { approval: "a", rule: "ask_first", reason: "a rule asks" } },
    });
    expect(textIn(params)).toContain("Asked because: a rule asks");
  });

  test.each([
    [
      ["allow_once", "deny"],
      ["allow_once", "reject_once"],
    ],
    [["deny"], ["reject_once"]],
    [
      ["allow_always", "allow_once", "deny"],
      ["allow_once", "allow_always", "reject_once"],
    ],
  ])("offers %j as %j", (options, kinds) => {
    const params = permissionRequest("s", "c", approval({ options }));
    expect(optionsIn(params).map(({ kind }) => kind)).toEqual(kinds);
  });

  test("offers only a no for what cannot be read", () => {
    const params = permissionRequest("s", "c", approval({ unreadable: "too long" }));
    expect(optionsIn(params).map(({ kind }) => kind)).toEqual(["reject_once"]);
  });

  test.each([
    [["exec", "write"], "execute"],
    [["write", "net"], "edit"],
    [["net", "read"], "fetch"],
    [["read"], "read"],
    [[], "other"],
  ])("with the effects %j is of kind %s", (kinds, kind) => {
    const effects = kinds.map((one) => ({ kind: one }));
    expect(callIn(permissionRequest("s", "c", approval({}, { effects }))).kind).toBe(kind);
  });

  test("lists each path once", () => {
    const effects = [
      { kind: "read", path: "/a" },
      { kind: "write", path: "/a" },
      { kind: "net", host: "x" },
    ];
    const { locations } = callIn(permissionRequest("s", "c", approval({}, { effects })));
    expect(locations).toEqual([{ path: "/a" }]);
  });

  test("shows what a prompt is about where there is no tool call", () => {
    const about = { tool: "session/prompt", rawInput: { prompt: "hello" } };
    const params = permissionRequest("s", "c", approval({}, { tool: "" }), about);
    expect(callIn(params)).toMatchObject({ name: "session/prompt", title: "session/prompt: hello" });
    const ofTool = permissionRequest("s", "c", approval(), about);
    expect(callIn(ofTool).name).toBe("Bash");
  });

  test("writes hidden characters out, in title and text", () => {
    const command = "ls \u202E\u200B; rm";
    const params = permissionRequest("s", "c", approval({}, { arguments: { command } }));
    expect(callIn(params).title).toBe("Bash: ls \\u202e\\u200b; rm");
    expect(textIn(params)).not.toMatch(/[\u200B\u202E]/u);
    expect(callIn(params).rawInput).toEqual({ command });
  });

  test("shows all arguments where there are several, and shortens a long title with its length", () => {
    const params = permissionRequest("s", "c", approval({}, { arguments: { a: "1", b: 2 } }));
    expect(callIn(params).title).toBe('Bash: {"a":"1","b":2}');
    const long = permissionRequest("s", "c", approval({}, { arguments: { command: "x".repeat(400) } }));
    expect(callIn(long).title).toMatch(/^Bash: x+… \(106 more characters\)$/);
  });

  test("says what is not known", () => {
    const params = permissionRequest("s", "c", approval({}, { opaque: true, doubts: ["where it goes"] }));
    expect(textIn(params)).toContain("It may do more than can be seen from here.");
    expect(textIn(params)).toContain("Not known: where it goes");
  });
});

describe("a stored permission request", () => {
  const redact = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll("secret", "***"));

  test("has its words made again from what is redacted", () => {
    const asked = permissionRequest(
      "s",
      "c",
      approval({}, { arguments: { command: "curl secret" }, doubts: ["secret"] }),
    );
    const stored = redactedQuestion(asked, redact) as JsonObject;
    expect(callIn(stored).title).toBe("Bash: curl ***");
    expect(JSON.stringify(stored)).not.toContain("secret");
    expect(callIn(stored)).not.toHaveProperty("locations");
  });

  test("that Reins did not make is redacted as it is", () => {
    expect(redactedQuestion({ message: "secret" }, redact)).toEqual({ message: "***" });
  });
});
