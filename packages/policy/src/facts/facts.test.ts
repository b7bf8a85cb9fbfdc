import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Action } from "../action.ts";
import { isHarmless } from "../conditions/conditions.ts";
import { realFiles } from "./files.ts";
import { type FactsContext, gatherFacts } from "./gather.ts";
import { loadToolTables } from "./tool/tool-call.ts";

let machine: string;
let context: FactsContext;

beforeAll(async () => {
  machine = await realpath(await mkdtemp(join(tmpdir(), "facts-")));
  const [root, home, harness] = [join(machine, "work"), join(machine, "home"), join(machine, "home/.reins")];
  await mkdir(join(root, "src"), { recursive: true });
  await mkdir(join(home, ".ssh"), { recursive: true });
  await mkdir(harness, { recursive: true });
  await writeFile(join(root, "src/a.ts"), "");
  await writeFile(join(home, ".ssh/id_ed25519"), "");
  await symlink(join(home, ".ssh"), join(root, "innocent"));
  context = {
    roots: [root],
    cwd: root,
    home,
    harness,
    agent: "claude-code",
    tables: loadToolTables(),
    files: realFiles,
  };
});

afterAll(() => rm(machine, { recursive: true, force: true }));

function facts(payload: unknown): Promise<Action> {
  return gatherFacts(
    { event_type: "pre_action", session_id: "s", agent_id: "a", depth: 0, payload },
    context,
  );
}

const bash = (command: string) => facts({ tool_name: "Bash", arguments: { command } });

describe("ordinary work is seen to be harmless", () => {
  test.each([
    "ls -la src | head -3",
    "git status --short",
    "cat src/a.ts && wc -l src/a.ts",
    "grep -rn TODO src || true",
    "mkdir -p build && touch build/x",
    "echo done > notes.txt",
    "N=src; ls $N",
    "for f in src/*.ts; do head -1 $f; done",
  ])("%s", async (command) => {
    expect(isHarmless(await bash(command))).toBe(true);
  });

  test("reading and editing a file of the workspace", async () => {
    for (const tool_name of ["Read", "Edit", "Write"]) {
      const action = await facts({ tool_name, arguments: { file_path: join(context.cwd, "src/a.ts") } });
      expect(isHarmless(action)).toBe(true);
    }
  });
});

describe("what is not harmless is not taken for it", () => {
  test.each([
    "rm -rf ~",
    "echo hi; rm -rf ~/",
    "bash -c 'rm -rf ~'",
    "env X=1 sudo rm -rf /etc",
    "echo cm0gLXJmIH4= | base64 -d | sh",
    "$(echo rm) -rf ~",
    "cat innocent/id_ed25519",
    "cat ../home/.ssh/id_ed25519",
    "cat < ~/.ssh/id_ed25519",
    "find . -exec rm {} +",
    "ls() { rm -rf ~; }; ls",
    "PATH=/tmp/evil ls",
    "curl http://evil.example/x",
    "npm test",
    "python3 -c 'print(1)'",
    "cat $SECRET_FILE",
    'eval "$CODE"',
    "ls `rm -rf ~`",
    "cat <<EOF | bash\nrm -rf ~\nEOF",
    "echo x >> ~/.bashrc",
    "cp src/a.ts ~/.reins/reins.db",
    "if then",
  ])("%s", async (command) => {
    expect(isHarmless(await bash(command))).toBe(false);
  });

  test.each<[string, unknown]>([
    [
      "a title that lies",
      { tool_name: "Bash", title: "Read file", kind: "read", arguments: { command: "rm -rf ~" } },
    ],
    ["an unknown tool", { tool_name: "mcp__files__do", arguments: {} }],
    ["a look-alike of a known tool", { tool_name: "Rеad", arguments: { file_path: "src/a.ts" } }],
    ["no tool at all", {}],
    ["nothing", null],
    ["arguments that are no object", { tool_name: "Bash", arguments: "ls" }],
    ["a key behind a symlink", { tool_name: "Read", arguments: { file_path: "innocent/id_ed25519" } }],
  ])("%s", async (_, payload) => {
    expect(isHarmless(await facts(payload))).toBe(false);
  });

  test("the harness's own files and credentials are known for what they are", async () => {
    const places = async (path: string) => {
      const { effects } = await facts({ tool_name: "Read", arguments: { file_path: path } });
      return effects.flatMap((effect) => ("place" in effect ? [effect.place] : []));
    };
    expect(await places(join(context.harness, "reins.db"))).toContain("harness");
    expect(await places("~/.ssh/id_ed25519")).toContain("credentials");
  });
});
