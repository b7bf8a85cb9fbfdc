import { expect, test } from "vitest";
import { meantTool } from "./tool-executors.ts";

test.each([
  ["read", { filePath: "a" }, "read_file", { path: "a" }],
  ["grep", { pattern: "x", path: "src" }, "search", { query: "x", path: "src" }],
  ["glob", { pattern: "*.json" }, "list_files", { pattern: "*.json" }],
  ["run_command", { command: "ls" }, "run_command", { command: "ls" }],
])("the name %s of another harness with %j means %s with %j", (name, input, tool, renamed) => {
  expect(meantTool(name, input)).toEqual({ tool, input: renamed });
});

const INHERITED = Object.getOwnPropertyNames(Object.prototype);

test("what every object inherits is no name of a tool, and no name of a member", () => {
  for (const name of INHERITED) {
    expect(meantTool(name, undefined)).toEqual({ tool: name, input: undefined });
    const { input = {} } = meantTool("read", Object.fromEntries([[name, 1]]));
    expect(Object.keys(input)).toEqual([name]);
  }
});
