import {
  type Conversation,
  callMcpTool,
  type Intent,
  lookAround,
  type OfferedTool,
  readFile,
  runCommand,
  wordIntent,
  writeFile,
} from "@reins/scripted-model";
import { describe, expect, it } from "vitest";
import { Catalogue } from "./catalogue.ts";

const wordings = Catalogue.load().wordings;

function offering(...tools: (Partial<OfferedTool> & { name: string })[]): Conversation {
  const offered = tools.map((tool) => ({ freeform: false, properties: [], required: [], ...tool }));
  const usage = { input: 10, output: 5 };
  return { dialect: "anthropic", model: "m", streamed: true, system: "", items: [], tools: offered, usage };
}

const word = (intent: Intent, conversation: Conversation) => wordIntent(intent, wordings, conversation);

describe("an intent", () => {
  it("becomes a call of the tool that the agent offers", () => {
    const claude = offering({ name: "Write", properties: ["file_path", "content"], required: ["file_path"] });
    expect(word(writeFile("/a", "x"), claude)).toEqual({
      tool: "Write",
      arguments: { file_path: "/a", content: "x" },
    });
  });

  it("distinguishes agents whose tools have the same name", () => {
    const opencode = offering({
      name: "write",
      properties: ["filePath", "content"],
      required: ["filePath", "content"],
    });
    const pi = offering({ name: "write", properties: ["path", "content"], required: ["path", "content"] });
    expect(word(writeFile("/a", "x"), opencode)?.arguments).toEqual({ filePath: "/a", content: "x" });
    expect(word(writeFile("/a", "x"), pi)?.arguments).toEqual({ path: "/a", content: "x" });
  });

  it("leaves out what a tool does not take", () => {
    const bash = offering({ name: "bash", properties: ["command", "timeout"], required: ["command"] });
    expect(word(runCommand("ls"), bash)?.arguments).toEqual({ command: "ls" });
  });

  it("is put into other words where an agent has none of its own for it", () => {
    const bash = offering({ name: "bash", properties: ["command"], required: ["command"] });
    expect(word(lookAround("ls"), bash)?.arguments).toEqual({ command: "ls" });
    const codex = offering({
      name: "exec_command",
      properties: ["cmd", "sandbox_permissions", "justification"],
      required: ["cmd"],
    });
    expect(word(lookAround("ls"), codex)?.arguments).toEqual({ cmd: "ls" });
    expect(word(runCommand("make"), codex)?.arguments).toMatchObject({
      sandbox_permissions: "require_escalated",
    });
  });

  it("becomes a text where a tool takes one", () => {
    const codex = offering({ name: "apply_patch", freeform: true });
    expect(word(writeFile("/a", "one\ntwo\n"), codex)?.arguments).toBe(
      "*** Begin Patch\n*** Add File: /a\n+one\n+two\n*** End Patch",
    );
  });

  it("becomes a script where the only tool runs scripts", () => {
    const codex = offering({ name: "exec", namespace: "functions", freeform: true });
    expect(word(readFile('/a "b"'), codex)).toEqual({
      tool: "exec",
      namespace: "functions",
      arguments: 'text(await tools.exec_command({ cmd: "cat /a \\"b\\"" }));',
    });
  });

  it.each([
    ["mcp__lab__echo", undefined],
    ["lab_echo", undefined],
    ["mcp_lab_echo", undefined],
    ["echo", "mcp__lab"],
  ])("calls an MCP tool as %s", (name, namespace) => {
    const agent = offering({ name, ...(namespace && { namespace }) });
    expect(word(callMcpTool("lab", "echo", { text: "x" }), agent)).toMatchObject({
      tool: name,
      arguments: { text: "x" },
    });
  });

  it("calls what an agent holds back, when it is that agent", () => {
    const codex = offering(
      { name: "exec_command", properties: ["cmd"], required: ["cmd"] },
      { name: "tool_search" },
    );
    const qwen = offering({ name: "run_shell_command" }, { name: "tool_search" });
    expect(word(callMcpTool("lab", "echo"), codex)).toMatchObject({ namespace: "mcp__lab", tool: "echo" });
    expect(word(callMcpTool("lab", "echo"), qwen)).toBeUndefined();
  });

  it("has no words where no tool will do", () => {
    expect(word(writeFile("/a", "x"), offering())).toBeUndefined();
    expect(word(writeFile("/a", "x"), offering({ name: "Write", required: ["mode"] }))).toBeUndefined();
  });
});
