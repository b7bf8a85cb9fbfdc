import { expect, test } from "vitest";
import { exactCall } from "./exact-call.ts";

test("a command is shown as a command, whatever else comes with it", () => {
  expect(exactCall({ command: "make", timeout: 3 })).toEqual({ kind: "command", command: "make" });
});

test("an edit is shown as what changes, in the words of the native agent and of Claude", () => {
  const diff = { kind: "diff", path: "a", before: "x", after: "y" };
  expect(exactCall({ path: "a", old_text: "x", new_text: "y" })).toEqual(diff);
  expect(exactCall({ file_path: "a", old_string: "x", new_string: "y" })).toEqual(diff);
});

test("a new content is shown as all of it", () => {
  const diff = { kind: "diff", path: "a", before: "", after: "y" };
  expect(exactCall({ path: "a", content: "y" })).toEqual(diff);
  expect(exactCall({ file_path: "a", content: "y" })).toEqual(diff);
});

test("anything else is shown as it is", () => {
  expect(exactCall({ host: "h" })).toEqual({ kind: "arguments", value: { host: "h" } });
  expect(exactCall(undefined)).toEqual({ kind: "arguments", value: undefined });
});
