import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { requirement } from "../../../../scripts/test/requirement.ts";
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

const piece = fc.constantFrom(
  "a",
  "b c",
  "-x",
  "--y=z",
  "'q r'",
  '"d e"',
  "\\ ",
  "\\\\",
  "\\'",
  '\\"',
  "'\\'",
  '"\\""',
  '"\\a"',
  '"\\$x"',
  "\\$x",
  "'$x'",
  "$",
  '"$"',
  "a#b",
  "#c",
  "~",
  "a~",
  "'~'",
  "=",
  "k=v",
  "k=~/x",
  "{",
  "}",
  "{}",
  "[",
  "]",
  "!",
  "%",
  "@",
  ":",
  ",",
  "^",
  "+",
  "\\\n",
  "\n",
  "\t",
  "\r",
  "\u00a0",
  "\u200b",
  "é",
  "''",
  '""',
  "$'\\x41'",
  "$'a'",
  '$"a"',
  "\\n",
  ";",
  "&",
  "|",
  ">",
  "2>",
  "`",
  "(",
  "*",
  "?",
  "do",
  "time",
  "1",
);
const line = fc
  .array(fc.tuple(fc.constantFrom(" ", " ", "", "  "), piece), { minLength: 1, maxLength: 5 })
  .map((parts) => `show ${parts.flat().join("")}`);

/** The words that a shell calls a program with; `undefined` where it does something else. */
function wordsIn(shell: string, text: string): readonly string[] | undefined {
  const script = `show() { printf '%s\\0' show "$@"; }\n${text}\nprintf '\\1'`;
  const { stdout, status } = spawnSync(shell, ["-c", script], { encoding: "utf8", cwd: "/", timeout: 5_000 });
  return status === 0 ? stdout.replace("\u0001", "").split("\0").slice(0, -1) : undefined;
}

describe.each(["/bin/bash", "/bin/dash"])("to %s", (shell) => {
  requirement(
    shell,
    spawnSync(shell, ["-c", "exit 0"]).status === 0,
    "there is none here",
  )("a simple command", () => {
    it("has the words that we say, so that it is the one that was allowed", async () => {
      let simple = 0;
      await fc.assert(
        fc.asyncProperty(line, async (text) => {
          const found = await simpleCommand(action({ command: text }));
          if (!found) return;
          simple += 1;
          expect(found.words, JSON.stringify(text)).toEqual(wordsIn(shell, text));
        }),
        { numRuns: Number(process.env.REINS_WORD_RUNS ?? 300) },
      );
      expect(simple).toBeGreaterThan(0);
    }, 120_000);
  });
});

test.each(["npm run $'test'", 'npm run $"test"', "npm run te$'st'"])(
  "quotes that shells read differently are not simple: %s",
  async (command) => {
    expect(await simpleCommand(action({ command }))).toBeUndefined();
  },
);
