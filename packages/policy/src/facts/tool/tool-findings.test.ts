import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { brief } from "../../../test/brief.ts";
import { Machine } from "../../../test/machine.ts";

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

/** Calls of tools by agents, and what each is seen to do. */
const CALLS: readonly (readonly [string, string, unknown, string])[] = [
  ["claude-code", "Read", { file_path: "src/index.ts" }, "read src/index.ts"],
  ["claude-code", "Read", { file_path: "{{workspace}}/src/index.ts" }, "read src/index.ts"],
  ["claude-code", "Read", { file_path: "./src//index.ts" }, "read src/index.ts"],
  ["claude-code", "Read", { file_path: "src/../src/index.ts" }, "read src/index.ts"],
  ["claude-code", "Read", { file_path: "~/notes.txt" }, "read home:notes.txt"],
  ["claude-code", "Read", { file_path: "{{home}}/notes.txt" }, "read home:notes.txt"],
  ["claude-code", "Read", { file_path: "../home/notes.txt" }, "read home:notes.txt"],
  ["claude-code", "Read", { file_path: "file://{{home}}/notes.txt" }, "read home:notes.txt"],
  ["claude-code", "Read", { file_path: "FILE://{{home}}/notes.txt" }, "read home:notes.txt"],
  ["claude-code", "Read", { file_path: "file://evil.com/x" }, "read unknown:x, doubt"],
  ["claude-code", "Read", { file_path: "~root/x" }, "read unknown:x, doubt"],
  ["claude-code", "Read", { file_path: "$HOME/notes.txt" }, "read unknown:notes.txt, doubt"],
  ["claude-code", "Read", { file_path: `\${HOME}/notes.txt` }, "read unknown:notes.txt, doubt"],
  ["claude-code", "Read", { file_path: "%HOME%/notes.txt" }, "read unknown:notes.txt, doubt"],
  ["claude-code", "Read", { file_path: "src\\index.ts" }, "read unknown:src\\index.ts, doubt"],
  ["claude-code", "Read", { file_path: "src/index.ts\u0000.png" }, "read unknown:index.ts\u0000.png, doubt"],
  ["claude-code", "Read", { file_path: "https://example.com/x" }, "read unknown:x, doubt"],
  ["claude-code", "Read", { file_path: ".env" }, "read credentials:.env"],
  ["claude-code", "Read", { file_path: ".ENV" }, "read credentials:.ENV"],
  ["claude-code", "Read", { file_path: ".env." }, "read credentials:.env."],
  ["claude-code", "Read", { file_path: "{{home}}/.ssh/id_rsa" }, "read credentials:id_rsa"],
  ["claude-code", "Read", { file_path: "{{harness}}/ledger.db" }, "read harness:ledger.db"],
  ["claude-code", "Read", { file_path: "link-home/notes.txt" }, "read home:notes.txt"],
  ["claude-code", "Read", { file_path: "/proc/self/environ" }, "read credentials:environ"],
  ["claude-code", "Read", { file_path: "/dev/null" }, "read system:null"],
  [
    "claude-code",
    "Read",
    { file_path: ["src/index.ts", ".env"] },
    "read src/index.ts, read credentials:.env",
  ],
  ["claude-code", "Read", { file_path: 5 }, "opaque"],
  ["claude-code", "Read", { file_path: { a: 1 } }, "opaque"],
  ["claude-code", "Read", { file_path: null }, "read unknown:*/**, opaque"],
  ["claude-code", "Read", {}, "read unknown:*/**, opaque"],
  ["claude-code", "Read", { file_path: "src/index.ts", offset: 3, limit: 5 }, "read src/index.ts"],
  ["claude-code", "Read", { file_path: "src/index.ts", then_run: "rm -rf ~" }, "read src/index.ts, doubt"],
  [
    "claude-code",
    "Read",
    { file_path: "src/index.ts", also: "~/.ssh/id_rsa" },
    "read src/index.ts, read credentials:id_rsa/**, opaque",
  ],
  ["claude-code", "Read", { file_path: "src/index.ts", verbose: false }, "read src/index.ts"],
  ["claude-code", "Write", { file_path: "new.ts", content: "x" }, "write new.ts"],
  ["claude-code", "Write", { file_path: "src/index.ts", content: "x" }, "destroy src/index.ts"],
  ["claude-code", "Write", { file_path: "~/.bashrc", content: "x" }, "destroy persistence:.bashrc"],
  [
    "claude-code",
    "Write",
    { file_path: ".git/hooks/pre-commit", content: "x" },
    "write persistence:.git/hooks/pre-commit",
  ],
  [
    "claude-code",
    "Write",
    { file_path: ".GIT/hooks/pre-commit", content: "x" },
    "write persistence:.GIT/hooks/pre-commit",
  ],
  [
    "claude-code",
    "Write",
    { file_path: ".claude/settings.json", content: "x" },
    "write persistence:.claude/settings.json",
  ],
  ["claude-code", "Write", { content: "x" }, "destroy unknown:*/**, opaque"],
  [
    "claude-code",
    "Edit",
    { file_path: "src/index.ts", old_string: "a", new_string: "b" },
    "write src/index.ts",
  ],
  [
    "claude-code",
    "MultiEdit",
    { file_path: "src/index.ts", edits: [{ old_string: "a", new_string: "b" }] },
    "write src/index.ts",
  ],
  ["claude-code", "MultiEdit", { file_path: "src/index.ts", edits: ["x"] }, "write src/index.ts, opaque"],
  [
    "claude-code",
    "MultiEdit",
    { file_path: "src/index.ts", edits: [{ file_path: "~/.bashrc" }] },
    "write src/index.ts, read home:.bashrc, opaque",
  ],
  ["claude-code", "Glob", { pattern: "**/*.ts" }, "read ./**, read **/*.ts"],
  ["claude-code", "Glob", { pattern: "src/*.ts" }, "read src/**, read src/*.ts"],
  ["claude-code", "Glob", { pattern: "{{home}}/**" }, "read credentials:home/**, read home:**"],
  ["claude-code", "Glob", { pattern: "src/{a,/etc}/*" }, "read src/**, read src/{a,/etc}/*, opaque"],
  ["claude-code", "Glob", { pattern: "*.ts", path: "{{home}}" }, "read credentials:home/**, read home:*.ts"],
  ["claude-code", "Grep", { pattern: "x" }, "read ./**"],
  ["claude-code", "Grep", { pattern: "x", path: "src" }, "read src/**"],
  ["claude-code", "Grep", { pattern: "x", path: "{{home}}" }, "read credentials:home/**"],
  ["claude-code", "Grep", { pattern: "x", glob: ".env" }, "read credentials:.env, read ./**"],
  ["claude-code", "Grep", { pattern: "x", glob: "*.{env,pem}" }, "read credentials:./.env, read ./**"],
  ["claude-code", "Grep", { pattern: "x", glob: "!.env" }, "read ./**"],
  ["claude-code", "Grep", { pattern: "x", glob: 7 }, "read ./**, opaque"],
  ["claude-code", "LS", { path: "src" }, "read src"],
  ["claude-code", "WebFetch", { url: "https://example.com/a", prompt: "x" }, "net example.com"],
  ["claude-code", "WebFetch", { url: "http://localhost:3000", prompt: "x" }, "look localhost"],
  ["claude-code", "WebFetch", { url: "http://localhost:22", prompt: "x" }, "net localhost"],
  ["claude-code", "WebFetch", { url: "example.com", prompt: "x" }, "net example.com"],
  ["claude-code", "WebFetch", { url: "file:///etc/passwd", prompt: "x" }, "read system:passwd"],
  ["claude-code", "WebFetch", { url: "https://a.com\\@b.com", prompt: "x" }, "net *"],
  ["claude-code", "WebFetch", { url: "https://a.com#@b.com", prompt: "x" }, "net *"],
  ["claude-code", "WebFetch", { url: "https://bücher.de", prompt: "x" }, "net xn--bcher-kva.de"],
  ["claude-code", "WebFetch", { url: "http://2130706433/", prompt: "x" }, "net 127.0.0.1"],
  ["claude-code", "WebFetch", { url: "http://[::ffff:127.0.0.1]/", prompt: "x" }, "net 127.0.0.1"],
  ["claude-code", "WebFetch", { url: "https://example.com./", prompt: "x" }, "net example.com"],
  ["claude-code", "WebFetch", { prompt: "x" }, "net *, opaque"],
  ["claude-code", "WebSearch", { query: "x" }, "net *"],
  ["claude-code", "TodoWrite", { todos: [] }, "nothing"],
  ["claude-code", "Bash", { command: "ls", dangerouslyDisableSandbox: true }, "read ., opaque"],
  ["claude-code", "Bash", { command: "ls", dangerouslyDisableSandbox: false }, "read ."],
  ["claude-code", "Bash", { command: ["ls", "-la"] }, "read ., opaque"],
  ["claude-code", "Bash", { cmd: "rm -rf ~" }, "destroy credentials:home/**, opaque"],
  ["claude-code", "bash", { command: "ls" }, "read ., opaque"],
  ["claude-code", "mcp__x__y", { path: "src/index.ts" }, "read src/index.ts, opaque"],
  ["claude-code", "mcp__x__y", { url: "https://example.com" }, "net example.com, opaque"],
  ["claude-code", "mcp__x__y", { command: "rm -rf ~" }, "destroy credentials:home/**, opaque"],
  ["claude-code", "mcp__x__y", { text: "see ~/.ssh" }, "opaque"],
  ["claude-code", "mcp__x__y", { nested: { file: "~/.ssh/id_rsa" } }, "read credentials:id_rsa/**, opaque"],
  ["claude-code", "mcp__x__y", { list: [{ deep: ["/etc/shadow"] }] }, "read credentials:shadow, opaque"],
  ["codex", "shell", { command: ["ls", "src"] }, "read src"],
  ["codex", "shell", { command: ["bash", "-lc", "cat src/index.ts"] }, "read src/index.ts"],
  ["codex", "shell", { command: ["cat", "*.ts"] }, "read *.ts"],
  ["codex", "shell", { command: ["cat", "a"], workdir: "{{home}}" }, "read home:a"],
  ["codex", "shell", { command: ["cat", "a"], workdir: "src" }, "read src/a"],
  ["codex", "shell", { command: ["cat", "a"], workdir: "~" }, "read ~/a, opaque"],
  ["codex", "shell", { command: ["cat", "a"], workdir: 5 }, "read a, opaque"],
  ["codex", "shell", { command: ["cat", 5] }, "opaque"],
  ["codex", "shell", { command: ["ls"], with_escalated_permissions: true }, "read ., opaque"],
  [
    "codex",
    "apply_patch",
    { input: "*** Begin Patch\n*** Update File: src/index.ts\n@@\n-a\n+b\n*** End Patch" },
    "write src/index.ts",
  ],
  [
    "codex",
    "apply_patch",
    { input: "*** Begin Patch\n*** Add File: new.ts\n+x\n*** End Patch" },
    "write new.ts",
  ],
  [
    "codex",
    "apply_patch",
    { input: "*** Begin Patch\n*** Delete File: src/index.ts\n*** End Patch" },
    "destroy src/index.ts",
  ],
  [
    "codex",
    "apply_patch",
    { input: "*** Begin Patch\n*** Update File: src/index.ts\n*** Move to: ~/.bashrc\n*** End Patch" },
    "write src/index.ts, destroy persistence:.bashrc",
  ],
  ["codex", "apply_patch", { input: "*** Begin Patch\n*** Rename File: a\n*** End Patch" }, "opaque"],
  [
    "codex",
    "apply_patch",
    { input: "--- a/src/index.ts\n+++ b/src/index.ts\n@@ -1 +1 @@\n-a\n+b" },
    "destroy a/src/index.ts, destroy src/index.ts, destroy b/src/index.ts",
  ],
  ["codex", "apply_patch", { input: "hello" }, "opaque"],
  ["codex", "apply_patch", "*** Begin Patch\n*** Add File: new.ts\n+x\n*** End Patch", "write new.ts"],
  ["codex", "exec_command", { cmd: "cat src/index.ts", shell: "/tmp/x" }, "read src/index.ts, opaque"],
  ["codex", "read_file", { file_path: "src/index.ts" }, "read src/index.ts"],
  ["gemini", "run_shell_command", { command: "cat src/index.ts" }, "read src/index.ts"],
  ["gemini", "write_file", { file_path: "new.ts", content: "x" }, "write new.ts"],
  [
    "gemini",
    "web_fetch",
    { prompt: "read https://example.com/a, then file:///etc/passwd." },
    "net example.com, read system:passwd",
  ],
  ["gemini", "web_fetch", { prompt: "no address" }, "net *"],
  ["native", "delete_file", { path: "src/index.ts" }, "destroy src/index.ts"],
  ["native", "delete_file", { path: "src" }, "destroy src/**"],
  ["native", "spawn_subagent", { prompt: "x", worktree: false }, "nothing"],
  ["native", "spawn_subagent", { prompt: "x", worktree: true }, "write ."],
  [
    "native",
    "spawn_subagent",
    { prompt: "x", working_dir: "src", worktree: { base_ref: "main" } },
    "read src/**, write src",
  ],
  ["native", "run_command", { command: "cat src/index.ts" }, "read src/index.ts"],
  ["unknown-agent", "Read", { file_path: "src/index.ts" }, "read src/index.ts, opaque"],
];

describe("a call of a tool", () => {
  test.each(CALLS)("%s: %s %j", async (agent, tool_name, given, effects) => {
    const args: unknown = JSON.parse(machine.fill(JSON.stringify(given)));
    expect(brief(await machine.call({ tool_name, arguments: args }, agent))).toBe(effects);
  });

  test.each(["args", "input", "rawInput", "raw_input", "parameters", "tool_input"])(
    "has its arguments under %s, too",
    async (member) => {
      const action = await machine.call({ tool_name: "Read", [member]: { file_path: "src/index.ts" } });
      expect(brief(action)).toBe("read src/index.ts");
    },
  );

  test.each(["tool_name", "tool", "toolName", "name"])("has its name under %s, too", async (member) => {
    const action = await machine.call({ [member]: "Read", arguments: { file_path: "src/index.ts" } });
    expect(action.tool).toBe("Read");
    expect(brief(action)).toBe("read src/index.ts");
  });

  test.each([
    { tool_name: "Read", tool: "Bash", arguments: { file_path: "src/index.ts" } },
    { tool_name: "Read", arguments: { file_path: "src/index.ts" }, input: { file_path: ".env" } },
    { tool_name: "Read", arguments: '{"file_path":"src/index.ts","file_path":".env"}' },
    { tool_name: "Read", arguments: "{not json" },
    { tool_name: 5, arguments: { file_path: "src/index.ts" } },
    { tool_name: "Read", arguments: { file_path: "src/index.ts" }, cwd: "elsewhere" },
    { arguments: { file_path: "src/index.ts" } },
    { tool_name: "Read", arguments: ["src/index.ts"] },
  ])("that contradicts itself is opaque: %j", async (payload) => {
    expect((await machine.call(payload)).opaque).toBe(true);
  });

  test("in several versions does what each of them says", async () => {
    const payload = {
      tool_name: "Read",
      arguments: { file_path: "src/index.ts" },
      input: { file_path: ".env" },
    };
    expect(brief(await machine.call(payload))).toBe("read src/index.ts, read credentials:.env, opaque");
  });

  test("starts where the payload says, and where the session is", async () => {
    const payload = {
      tool_name: "Read",
      arguments: { file_path: "notes.txt" },
      cwd: machine.fill("{{home}}"),
    };
    expect(brief(await machine.call(payload))).toBe("read notes.txt, read home:notes.txt");
  });

  test("keeps what the agent claims beside it, and does not believe it", async () => {
    const claims = { title: "harmless", kind: "read", risk: "none" };
    const action = await machine.call({ ...claims, tool_name: "Bash", arguments: { command: "rm -rf ~" } });
    expect(action.claims).toEqual(claims);
    expect(brief(action)).toBe("destroy credentials:home/**");
  });
});
