import { describe, expect, it } from "vitest";
import { Catalogue } from "../agents/catalogue.ts";
import { commandOf } from "./tool-name.ts";

describe("the command of a call that is told without arguments", () => {
  const gemini = Catalogue.load().entry("gemini");
  const explained = (text: string) => [{ type: "content", content: { type: "text", text } }];
  const call = {
    toolCallId: "run_shell_command__1",
    kind: "execute",
    title: "ls -la",
    content: explained("[current working directory /home] (Looks around)"),
  };
  const command = (told: object) => commandOf({ told: { ...call, ...told } }, gemini);

  it("is where the catalogue knows it to be", () => {
    expect(command({})).toBe("ls -la");
    expect(command({ toolCallId: "run_shell_command-1763000000000-1" })).toBe("ls -la");
  });

  it("is not known where it may run elsewhere, or where it is another tool that says so", () => {
    expect(command({ content: explained("[in /etc] ([current working directory /home])") })).toBeUndefined();
    expect(command({ content: [] })).toBeUndefined();
    expect(command({ toolCallId: "mcp_lab_run_shell_command__1" })).toBeUndefined();
    expect(command({ toolCallId: "run_shell_command_too__1" })).toBeUndefined();
    expect(command({ kind: "other" })).toBeUndefined();
  });

  it("is of no account where there are arguments, or an agent of which nothing of the kind is known", () => {
    expect(command({ rawInput: { command: "rm" } })).toBeUndefined();
    expect(commandOf({ told: call }, Catalogue.load().entry("codex"))).toBeUndefined();
  });
});
