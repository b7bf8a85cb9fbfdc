import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { promptSteps } from "./prompt-steps.ts";

/** A workspace with files, beside which there is one more. */
async function workspaceWith(files: Readonly<Record<string, string>>) {
  const room = await mkdtemp(join(tmpdir(), "steps-"));
  onTestFinished(() => rm(room, { recursive: true, force: true }));
  const cwd = join(room, "work");
  for (const [path, text] of Object.entries({ "../outside.txt": "x", ...files })) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  }
  const workspace = { cwd, roots: [cwd], home: join(room, "home") };
  return {
    room,
    cwd,
    reads: async (prompt: string, agent = "claude") =>
      (await promptSteps(agent, prompt, workspace)).map(({ path }) => path),
    steps: (prompt: string, agent = "claude") => promptSteps(agent, prompt, workspace),
  };
}

/** Ways to write a reference to a file of the folder that holds the workspace. */
const SPELLINGS: readonly ((name: string, room: string) => string)[] = [
  (name) => `@../${name}`,
  (name) => `@./../${name}`,
  (name) => `@sub/../../${name}`,
  (name, room) => `@${room}/${name}`,
  (name, room) => `@file://${room}/${name}`,
  (name, room) => `@${room}/work/..//${name}`,
  (name) => `@"../${name}"`,
  (name) => `@'../${name}'`,
  (name) => `@../${name}#L1-2`,
  (name) => `@../${name}:3`,
  (name) => `@../${name.replace(".", "%2E")}`,
  (name) => `@../${name.replace(".", "\\.")}`,
];
const AROUND: readonly ((reference: string) => string)[] = [
  (reference) => reference,
  (reference) => `look at ${reference}, please`,
  (reference) => `(${reference})`,
  (reference) => `first\n${reference}.`,
  (reference) => `a@b.c and ${reference}?`,
];

describe("what an agent does by itself for a prompt", () => {
  test.each(SPELLINGS.map((spell) => [spell("outside.txt", "<room>"), spell] as const))(
    "is to read the file that %s names, wherever that stands",
    async (_, spell) => {
      const { room, reads } = await workspaceWith({ "sub/a.txt": "a" });
      for (const around of AROUND)
        expect(await reads(around(spell("outside.txt", room)))).toContain(join(room, "outside.txt"));
    },
  );

  test("is nothing where no file is named that is there", async () => {
    const { steps } = await workspaceWith({});
    for (const prompt of ["hello", "mail ann@example.com", "use @Component and @missing.txt", "/unknown @x"])
      expect(await steps(prompt)).toEqual([]);
  });

  test("is to read what an agent says that it has read already, however it was found", async () => {
    const { cwd, reads } = await workspaceWith({ "deep/found.txt": "x" });
    const prompt = "see @fou\n--- Content from referenced files ---\nContent from deep/found.txt:\nx\n";
    expect(await reads(prompt, "qwen")).toEqual([join(cwd, "deep/found.txt")]);
  });

  test("is to read a whole folder, for an agent that does so", async () => {
    const { cwd, steps } = await workspaceWith({ "sub/a.txt": "a" });
    expect(await steps("see @sub/**", "gemini")).toMatchObject([
      { tool: "read_many_files", arguments: { paths: [join(cwd, "sub", "**")] } },
    ]);
    expect(await steps("see @sub")).toMatchObject([{ tool: "fs/read_text_file", tools: "acp" }]);
  });

  test.each([".claude/commands/peek.md", ".claude/commands/of/team/peek.md", ".claude/skills/peek/SKILL.md"])(
    "is what the template of a command has it read and run (%s)",
    async (path) => {
      const template = "See @../$1 and !`touch $ARGUMENTS`\n```!\nmake all\n```\n";
      const { room, steps } = await workspaceWith({ [path]: template });
      const found = await steps("/team:PEEK outside.txt now");
      expect(found).toMatchObject([
        { tool: "Bash", arguments: { command: "touch outside.txt now" } },
        { tool: "Bash", arguments: { command: "make all\n" } },
        { tool: "fs/read_text_file", arguments: { path: join(room, "outside.txt") } },
      ]);
      expect(await steps("say /peek outside.txt")).toEqual([]);
    },
  );

  test("cannot be known where more is named than can be looked at", async () => {
    const { steps } = await workspaceWith({});
    await expect(steps("@a ".repeat(3_000))).rejects.toThrow("references");
  });
});
