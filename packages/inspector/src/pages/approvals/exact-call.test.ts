import { expect, test } from "vitest";
import { exactCall } from "./exact-call.ts";

const rest = {};

test("a command is shown as a command", () => {
  expect(exactCall({ command: "make" })).toEqual({ kind: "command", command: "make", rest });
});

test("an edit is shown as what changes, in the words of the native agent and of Claude", () => {
  const diff = { kind: "diff", path: "a", before: "x", after: "y", rest };
  expect(exactCall({ path: "a", old_text: "x", new_text: "y" })).toEqual(diff);
  expect(exactCall({ file_path: "a", old_string: "x", new_string: "y" })).toEqual(diff);
});

test("a new content is shown as all of it", () => {
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
])("no argument is left out of what a person is asked about: %j", (given, others) => {
  expect(exactCall(given)).toMatchObject({ rest: others });
});

test("anything else is shown as it is", () => {
  expect(exactCall({ host: "h" })).toEqual({ kind: "arguments", value: { host: "h" } });
  expect(exactCall(undefined)).toEqual({ kind: "arguments", value: undefined });
});
