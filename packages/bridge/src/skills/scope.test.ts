import { describe, expect, it } from "vitest";
import { scopeTools } from "./match.ts";

const tools = [
  { name: "read_file" },
  { name: "run_command" },
  { name: "issues", namespaces: ["mcp", "github"] },
  { name: "load_skill", isRuntime: true },
];
const scoped = (...lists: readonly (readonly string[])[]) =>
  scopeTools(
    tools,
    lists.map((allowedTools) => ({ allowedTools })),
  ).map(({ name }) => name);
const ALL = tools.map(({ name }) => name);

describe("the tools of the skills in use", () => {
  it.each([
    ["no skill narrows nothing", [], ALL],
    ["an empty list narrows nothing", [[]], ALL],
    ["a list narrows; runtime tools stay", [["read_file"]], ["read_file", "load_skill"]],
    ["an empty list beside another does not widen", [["read_file"], []], ["read_file", "load_skill"]],
    ["lists are united", [["read_file"], ["run_command"]], ["read_file", "run_command", "load_skill"]],
    ["* stands for all", [["read_file"], ["*"]], ALL],
    ["a namespace", [["namespace:github"]], ["issues", "load_skill"]],
    ["a tool that is not there adds nothing", [["delete_everything"]], ["load_skill"]],
    ["a pattern is no name", [["read_*"]], ["load_skill"]],
  ])("%s", (_, lists, names) => {
    expect(scoped(...lists)).toEqual(names);
  });

  it("are always among those that were there", () => {
    expect(scopeTools([], [{ allowedTools: ["*", "run_command", "namespace:x"] }])).toEqual([]);
  });
});
