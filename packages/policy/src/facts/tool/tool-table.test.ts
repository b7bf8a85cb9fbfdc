import { describe, expect, it } from "vitest";
import { loadToolTables, toolTables } from "./tool-call.ts";

describe("tool tables", () => {
  it("come with the package for the agents of the catalogue", () => {
    expect([...loadToolTables().keys()].toSorted()).toEqual([
      "acp",
      "claude",
      "claude-code",
      "cline",
      "codex",
      "copilot",
      "gemini",
      "native",
      "opencode",
      "pi",
      "qwen",
    ]);
  });

  it("know the native agent's tools", () => {
    expect(Object.keys(loadToolTables().get("native")?.tools ?? {})).toEqual([
      "read_file",
      "list_files",
      "search",
      "ask_person",
      "send_message",
      "read_mailbox",
      "read_board",
      "post_board",
      "spawn_subagent",
      "write_file",
      "edit_file",
      "delete_file",
      "run_command",
      "read_command",
      "fetch_page",
      "stop_command",
      "remember",
      "load_skill",
      "update_plan",
      "search_tools",
      "bash",
    ]);
  });

  it.each([
    [
      "a role that does not exist",
      { agent: "a", source: "s", tools: { t: { arguments: { x: "execute" } } } },
    ],
    [
      "a member that does not exist",
      { agent: "a", source: "s", tools: { t: { arguments: {}, safe: true } } },
    ],
    ["no agent", { source: "s", tools: {} }],
    ["no object", "claude-code"],
  ])("with %s are refused", (_, document) => {
    expect(() => toolTables([document])).toThrow();
  });

  it("name only arguments as required that they describe", () => {
    for (const { tools } of loadToolTables().values()) {
      for (const tool of Object.values(tools))
        expect(Object.keys(tool.arguments)).toEqual(expect.arrayContaining(tool.required ?? []));
    }
  });
});
