import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
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
      const template = "See @../$0 and !`touch $ARGUMENTS`\n- ```! make $ARGUMENTS[1] $2```\n```!\n```\n";
      const { room, steps } = await workspaceWith({ [path]: template });
      const found = await steps("/team:PEEK outside.txt now");
      expect(found).toMatchObject([
        { tool: "Bash", arguments: { command: "make now $2" } },
        { tool: "Bash", arguments: { command: "touch outside.txt now" } },
        { tool: "fs/read_text_file", arguments: { path: join(room, "outside.txt") } },
      ]);
      expect(await steps("say /peek outside.txt")).toEqual([]);
    },
  );

  test("is what a skill has it run by the name in its header, or from above the folder of work", async () => {
    const skill = { ".claude/skills/a/SKILL.md": '---\nname: "Peek"\n---\n!`make a`\n' };
    const { steps } = await workspaceWith({ ...skill, "../.claude/commands/up.md": "!`make up`" });
    expect(await steps("/peek")).toMatchObject([{ arguments: { command: "make a" } }]);
    expect(await steps("/up")).toMatchObject([{ arguments: { command: "make up" } }]);
  });

  test("cannot be known where only the agent can tell what the arguments of a command become", async () => {
    const { steps } = await workspaceWith({
      ".claude/commands/numbered.md": "!`touch $0`",
      ".claude/commands/named.md": "---\narguments: [file]\n---\n!`touch $file`",
      ".claude/commands/long.md": "x".repeat(1024 * 1024 + 1),
    });
    await expect(steps("/numbered 'a b'")).rejects.toThrow("cannot be known");
    await expect(steps("/named a")).rejects.toThrow("cannot be known");
    await expect(steps("/long")).rejects.toThrow("longer than");
  });

  test("is found where links of a folder of commands lead round in it", async () => {
    const { cwd, steps } = await workspaceWith({ ".claude/skills/x/SKILL.md": "!`make x`" });
    const skills = join(cwd, ".claude/skills");
    for (const name of ["a", "b"]) await symlink(".", join(skills, name));
    await symlink("x", join(skills, "y"));
    for (const name of ["/x", "/y"]) {
      const [step] = await steps(name);
      expect(step).toMatchObject({ arguments: { command: "make x" } });
    }
  }, 1_000);

  test("cannot be known where a reference is longer than is looked at", async () => {
    const { steps } = await workspaceWith({ "a.txt": "a" });
    const long = `${"./".repeat(300)}a.txt`;
    for (const reference of [`@${long}`, `@"${long}"`, `@"${" ".repeat(600)}/../a.txt"`])
      await expect(steps(reference)).rejects.toThrow("longer than");
  });

  test("cannot be known where more is named than can be looked at", async () => {
    const { steps } = await workspaceWith({});
    await expect(steps("@a ".repeat(3_000))).rejects.toThrow("references");
  });
});
