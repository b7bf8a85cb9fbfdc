import { describe, expect, test } from "vitest";
import type { Action } from "../action.ts";
import { simpleCommand, tellingArguments } from "./simple-command.ts";

const action = (args: unknown, tool = "Bash"): Action => ({
  ...{ tool, effects: [], opaque: true, doubts: [], claims: {}, arguments: args },
});

describe("arguments that only describe", () => {
  test("are left out for tools that run commands", () => {
    const given = { command: "npm test", description: "Run tests", timeout: 5, run_in_background: true };
    expect(tellingArguments(action(given))).toEqual({ command: "npm test", run_in_background: true });
  });

  test.each(["create_issue", "mcp__github__create_issue", "constructor", "toString"])(
    "are content of any other tool: %s",
    (tool) => {
      const given = { command: "x", description: "the text", timeout: 1 };
      expect(tellingArguments(action(given, tool))).toEqual(given);
    },
  );
});

describe("a simple command", () => {
  test.each([
    ["npm test", ["npm", "test"]],
    ["  npm   test -- --watch=false ", ["npm", "test", "--", "--watch=false"]],
    ["npm test 'a b'", ["npm", "test", "a b"]],
    ['npm test "a*b"', ["npm", "test", "a*b"]],
  ])("is its words: %s", async (command, words) => {
    expect(await simpleCommand(action({ command, description: "d", timeout: 3 }))).toEqual({ words });
  });

  test("in another folder names it", async () => {
    expect(await simpleCommand(action({ command: ["npm", "test"], workdir: "/w/sub" }, "shell"))).toEqual({
      words: ["npm", "test"],
      folder: "/w/sub",
    });
    expect(await simpleCommand(action({ command: ["bash", "-lc", "npm test"] }, "shell"))).toEqual({
      words: ["npm", "test"],
    });
  });

  test.each([
    "npm test > out",
    "npm test 2>&1",
    "npm test < in",
    "npm test &",
    "npm test; id",
    "npm test && id",
    "npm test || id",
    "npm test | sh",
    "(npm test)",
    "{ npm test; }",
    "! npm test",
    "A=1 npm test",
    "PATH=/evil npm test",
    "npm test $(id)",
    "npm test `id`",
    "npm test $X",
    ["npm test $", "{X:-y}"].join(""),
    "npm test *.js",
    "npm test {a,b}",
    "npm test ~/x",
    "npm test <(id)",
    "npm test\nid",
    "npm test <<E\nx\nE",
    "if true; then npm test; fi",
    "f() { npm test; }",
    "npm test $((1))",
    "",
  ])("is nothing else: %j", async (command) => {
    expect(await simpleCommand(action({ command }))).toBeUndefined();
  });

  test.each([
    { command: "npm test", run_in_background: true },
    { command: "npm test", dangerouslyDisableSandbox: true },
    { command: "npm test", cmd: "id" },
    { command: ["npm", 7] },
    { command: ["bash", "-c", "npm test", "x"] },
    { command: ["bash", "-i", "npm test"] },
    ["npm test"],
    "npm test",
  ])("has no other arguments: %j", async (given) => {
    expect(await simpleCommand(action(given))).toBeUndefined();
  });
});
