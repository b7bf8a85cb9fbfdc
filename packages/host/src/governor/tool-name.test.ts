import { Catalogue } from "@reins/agents";
import { describe, expect, it, test } from "vitest";
import { argumentsOf, isEmpty, toolNameOf } from "./tool-name.ts";

const gemini = Catalogue.load().entry("gemini");

describe("the command of a call without arguments", () => {
  const explained = (text: string) => [{ type: "content", content: { type: "text", text } }];
  const call = {
    toolCallId: "run_shell_command__1",
    kind: "execute",
    title: "ls -la\nls",
    content: explained("[current working directory /home] (Looks around)"),
  };
  const given = (reported: object) => argumentsOf({ reported: { ...call, ...reported } }, gemini);

  it("is where the catalogue knows it to be", () => {
    expect(given({})).toEqual({ command: "ls -la\nls" });
    expect(given({ toolCallId: "run_shell_command-1763000000000-1" })).toEqual({ command: "ls -la\nls" });
  });

  it("is not known where it may run elsewhere, or where it is another tool that says so", () => {
    expect(given({ content: explained("[in /etc] ([current working directory /home])") })).toBeUndefined();
    expect(given({ content: [] })).toBeUndefined();
    expect(given({ toolCallId: "mcp_lab_run_shell_command__1" })).toBeUndefined();
    expect(given({ toolCallId: "run_shell_command_too__1" })).toBeUndefined();
    expect(given({ kind: "other" })).toBeUndefined();
  });

  it("is of no account where there are arguments, or an agent of which nothing of the kind is known", () => {
    expect(given({ rawInput: { command: "rm" } })).toEqual({ command: "rm" });
    expect(argumentsOf({ reported: call }, Catalogue.load().entry("codex"))).toBeUndefined();
  });
});

describe("a call of gemini's that goes to the network", () => {
  // As gemini 0.61 sends them.
  const fetching = {
    toolCallId: "web_fetch__dfee2affb38148628beedde8",
    status: "pending",
    title:
      'Processing URLs and instructions from prompt: "What does "http://127.0.0.1:9/x" say,\nand https://example.org/a?"',
    content: [],
    locations: [],
    kind: "fetch",
  };
  const seen = (reported: Record<string, unknown>) => [
    toolNameOf({ reported }, gemini).name,
    argumentsOf({ reported }, gemini),
  ];

  it("is known by its tool, and by its prompt or address", () => {
    expect(seen(fetching)).toEqual([
      "web_fetch",
      { prompt: 'What does "http://127.0.0.1:9/x" say,\nand https://example.org/a?' },
    ]);
    expect(seen({ ...fetching, title: "Fetching content from: https://example.org/a" })).toEqual([
      "web_fetch",
      { url: "https://example.org/a" },
    ]);
    const search = {
      ...fetching,
      toolCallId: "google_web_search__d57ac4aec593499abe6880db",
      title: 'Searching the web for: "weather \n today"',
      kind: "search",
    };
    expect(seen(search)).toEqual(["google_web_search", { query: "weather \n today" }]);
  });

  it("has no prompt where only its beginning is known", () => {
    const reported = (prompt: string) => {
      const shown = prompt.length > 100 ? `${prompt.slice(0, 97)}...` : prompt;
      return seen({ ...fetching, title: `Processing URLs and instructions from prompt: "${shown}"` });
    };
    const prompt = `https://example.org/ ${"x".repeat(79)}`;
    expect(reported(prompt)).toEqual(["web_fetch", { prompt }]);
    expect(reported(`${prompt} https://evil.example/`)).toEqual(["web_fetch", undefined]);
  });

  it("is not known by what a model can choose", () => {
    expect(seen({ ...fetching, toolCallId: "mcp_lab_web_fetch__1", kind: "other" })).toEqual([
      "unknown",
      undefined,
    ]);
  });
});

describe("a call of OpenCode that names a kind alone", () => {
  const opencode = Catalogue.load().entry("opencode");
  const named = (kind: string, first: string, title = first) =>
    toolNameOf({ reported: { kind, title }, first: { kind, title: first } }, opencode).name;

  it.each(["grep", "glob", "todowrite"])("is %s by the title it had at first", (tool) => {
    expect(named(tool === "todowrite" ? "other" : "search", tool, "3 matches")).toBe(tool);
  });

  it("is not known where that is no name, and no other kind is named so", () => {
    expect(named("search", "looks for all of it")).toBe("unknown");
    expect(named("execute", "read")).toBe("acp_execute");
  });
});

describe("a call of cline's", () => {
  const cline = Catalogue.load().entry("cline");
  // As cline 3.0.65 sends them: its program puts the name of the tool before what it is about.
  const named = (title: string, kind: string) =>
    toolNameOf({ reported: { title, kind, rawInput: {} } }, cline);

  it.each([
    ["editor: src/a.ts", "edit", "editor"],
    ["editor", "edit", "editor"],
    ["apply_patch: a.ts, b.ts", "other", "apply_patch"],
    ["apply_patch", "other", "apply_patch"],
    ["search_codebase: TODO", "search", "search_codebase"],
    ["fetch_web_content: https://example.com", "fetch", "fetch_web_content"],
    ["run_commands: ls", "execute", "run_commands"],
    ["read_files: README.md", "read", "read_files"],
  ])("has the name of its tool in its title: %s", (title, kind, name) => {
    expect(named(title, kind)).toEqual({ name, byKind: false });
  });

  it.each([
    ["editors: a", "edit"],
    ["my editor: a", "edit"],
    ["lab__editor: a", "other"],
    ["editor:a", "other"],
    ["skills: x", "other"],
  ])("is of no known tool where another name stands there: %s", (title, kind) => {
    expect(named(title, kind)).toEqual({ name: "unknown", byKind: false });
  });
});

test("a value is empty without a member that says something", () => {
  expect([undefined, null, "", {}, [], { a: null }, [undefined]].every(isEmpty)).toBe(true);
  expect([0, false, "x", { a: 0 }, [""]].some(isEmpty)).toBe(false);
});
