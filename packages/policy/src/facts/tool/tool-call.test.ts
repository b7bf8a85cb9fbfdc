import { describe, expect, it } from "vitest";
import { readToolCall } from "./tool-call.ts";

describe("a tool call", () => {
  it.each<[string, unknown]>([
    ["of AHP", { tool_name: "Bash", arguments: { command: "ls" } }],
    ["of A3S Code", { tool: "Bash", arguments: { command: "ls" } }],
    ["with short names", { tool: "Bash", args: { command: "ls" } }],
    ["of a hook", { tool_name: "Bash", tool_input: { command: "ls" } }],
    ["of ACP", { toolCall: { toolName: "Bash", rawInput: { command: "ls" } } }],
    [
      "of ACP as Claude sends it",
      { toolCall: { rawInput: { command: "ls" }, _meta: { claudeCode: { toolName: "Bash" } } } },
    ],
    ["with arguments as JSON", { tool_name: "Bash", arguments: '{"command":"ls"}' }],
    [
      "told twice alike",
      {
        tool_name: "Bash",
        arguments: { command: "ls" },
        toolCall: { toolName: "Bash", rawInput: { command: "ls" } },
      },
    ],
  ])("%s is read", (_, payload) => {
    expect(readToolCall(payload)).toMatchObject({ tool: "Bash", versions: [{ command: "ls" }], doubts: [] });
  });

  it("keeps what the agent says of itself as claims", () => {
    const call = readToolCall({
      tool_name: "Bash",
      title: "List",
      toolCall: { kind: "read" },
      risk_level: "low",
    });
    expect(call.claims).toEqual({ title: "List", kind: "read", risk: "low" });
  });

  it.each<[string, unknown, string]>([
    ["several tools", { tool_name: "Read", tool: "Bash" }, "several tools"],
    ["several arguments", { tool_name: "Read", arguments: {}, input: { a: 1 } }, "several arguments"],
    ["no name", { arguments: {} }, "no tool"],
    ["a name that is no text", { tool_name: 1 }, "no text"],
    ["a name in JSON twice", { tool_name: "Bash", arguments: '{"a":{"b":1,"b":2}}' }, "twice"],
    ["JSON that breaks off", { tool_name: "Bash", arguments: '{"a":' }, "no JSON"],
    ["no object", "Bash", "no object"],
  ])("with %s is doubted", (_, payload, doubt) => {
    expect(readToolCall(payload).doubts.join()).toContain(doubt);
  });

  it("with a name twice in different objects of its JSON is not doubted", () => {
    const call = readToolCall({
      tool_name: "Edit",
      arguments: '{"edits":[{"a":"\\"a\\":1"},{"a":2}],"a":{"a":3}}',
    });
    expect(call.doubts).toEqual([]);
  });

  it("that holds itself is read to an end", () => {
    const circle: Record<string, unknown> = { command: "ls" };
    circle.circle = circle;
    expect(readToolCall({ tool_name: "Bash", arguments: circle }).doubts.join()).toContain(
      "too large or nested",
    );
  });
});
