import { describe, expect, test } from "vitest";
import { commandText, effectText, exactCall, saysAll } from "./action-text.ts";

const write = { kind: "write", path: "/w/a", place: "workspace", destroys: false } as const;
const run = { kind: "exec" as const, command: "git", arguments: ["push"], opaque: false };

describe("the text of an effect", () => {
  test("names operation and path", () => {
    expect(effectText({ kind: "read", path: "/w/a", place: "workspace" })).toBe("reads /w/a (workspace)");
    expect(effectText(write)).toBe("writes /w/a (workspace)");
    expect(effectText({ ...write, destroys: true })).toBe("overwrites or deletes /w/a (workspace)");
  });

  test("quotes ambiguous words and marks unknown ones", () => {
    expect(effectText({ ...run, arguments: ["-m", "two words; rm", null] })).toBe(
      'runs git -m "two words; rm" ⟨known only when it runs⟩',
    );
    expect(effectText({ ...run, command: "make", arguments: [], opaque: true })).toBe(
      "runs make (and whatever that runs)",
    );
  });

  test.each([
    ["/w/a (workspace), reads /w/b", '"/w/a (workspace), reads /w/b"'],
    ["/w/two  spaces", '"/w/two  spaces"'],
    ["/w/line\nfeed", '"/w/line\\nfeed"'],
    ["/w/\u202etxt", '"/w/⟨U+202E⟩txt"'],
    ["/w/\u3164", "/w/⟨U+3164⟩"],
    ["/w/⟨known only when it runs⟩", '"/w/⟨U+27E8⟩known only when it runs⟩"'],
    ["/w/ünï-code_1.ts", "/w/ünï-code_1.ts"],
  ])("shows the path %j so that it passes for nothing else", (path, shown) => {
    expect(effectText({ ...write, path })).toBe(`writes ${shown} (workspace)`);
    expect(effectText({ ...run, command: path, arguments: [] })).toBe(`runs ${shown}`);
    expect(effectText({ kind: "net", host: path })).toBe(`reaches ${shown}`);
    expect(commandText(["git", path])).toBe(`git ${shown}`);
  });

  test("says when everything below a folder is affected", () => {
    expect(effectText({ ...write, destroys: true, deep: true })).toBe(
      "overwrites or deletes /w/a and everything below it (workspace)",
    );
  });

  test("names the host", () => {
    expect(effectText({ kind: "net", host: "example.org" })).toBe("reaches example.org");
    expect(effectText({ kind: "net", host: "*" })).toBe("reaches any host");
  });
});

test("an always covers the effects only if they describe the action completely", () => {
  const facts = { tool: "t", effects: [write, run], opaque: false, doubts: [], claims: {}, arguments: {} };
  expect(saysAll(facts)).toBe(true);
  expect(saysAll({ ...facts, opaque: true })).toBe(false);
  expect(saysAll({ ...facts, doubts: ["hooks"] })).toBe(false);
  expect(saysAll({ ...facts, effects: [] })).toBe(false);
  expect(saysAll({ ...facts, effects: [{ ...run, opaque: true }] })).toBe(false);
  expect(saysAll({ ...facts, effects: [{ kind: "net", host: "*" }] })).toBe(false);
});

const rest = {};

test("shows a command as a command", () => {
  expect(exactCall({ command: "make" })).toEqual({ kind: "command", command: "make", rest });
});

test("shows an edit as a diff, for the native agent and for Claude", () => {
  const diff = { kind: "diff", path: "a", before: "x", after: "y", rest };
  expect(exactCall({ path: "a", old_text: "x", new_text: "y" })).toEqual(diff);
  expect(exactCall({ file_path: "a", old_string: "x", new_string: "y" })).toEqual(diff);
});

test("shows new content completely", () => {
  const diff = { kind: "diff", path: "a", before: "", after: "y", rest };
  expect(exactCall({ path: "a", content: "y" })).toEqual(diff);
  expect(exactCall({ file_path: "a", content: "y" })).toEqual(diff);
});

test.each([
  [{ command: "git", args: ["push", "--force"] }, { args: ["push", "--force"] }],
  [{ command: "make", cwd: "/etc" }, { cwd: "/etc" }],
  [
    { command: "create", path: "a", file_text: "y" },
    { path: "a", file_text: "y" },
  ],
  [{ path: "a", content: "y", mode: "append" }, { mode: "append" }],
  [{ file_path: "a", old_string: "x", new_string: "y", replace_all: true }, { replace_all: true }],
])("leaves out no argument of %j", (given, others) => {
  expect(exactCall(given)).toMatchObject({ rest: others });
});

test("shows other arguments unchanged", () => {
  expect(exactCall({ host: "h" })).toEqual({ kind: "arguments", value: { host: "h" } });
  expect(exactCall(undefined)).toEqual({ kind: "arguments", value: undefined });
});
