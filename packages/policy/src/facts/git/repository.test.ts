import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { realFiles } from "../files.ts";
import { repositoryPrograms } from "./repository.ts";

let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "reins-repository-")));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function repository(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name, path)), { recursive: true });
    await writeFile(join(folder, name, path), text);
  }
  return join(folder, name);
}

const PLAIN =
  '[core]\n\tbare = false\n\tfsmonitor = false\n[remote "o"]\n\turl = x\n[branch "main"]\n\tremote = o\n[submodule "s"]\n\tpath = s\n\turl = y\n';

describe("git in a folder", () => {
  it("runs nothing more where the repository names nothing", async () => {
    const plain = await repository("plain", { ".git/config": PLAIN, "a/b/c": "" });
    expect(await repositoryPrograms(realFiles, plain)).toBeUndefined();
    expect(await repositoryPrograms(realFiles, join(plain, "a/b"))).toBeUndefined();
    expect(await repositoryPrograms(realFiles, join(plain, "not/there/yet"))).toBeUndefined();
  });

  it.each([
    ["a monitor", "[core]\n\tfsmonitor = ./x\n"],
    ["a monitor in capitals", "[CORE]\n FSMonitor=./x\n"],
    ["a pager", "[core]\n\tpager = sh\n"],
    ["a filter", '[filter "x"]\n\tclean = sh\n'],
    ["a converter", '[diff "x"]\n\ttextconv = sh\n'],
    ["an alias", "[alias]\n\tst = !sh\n"],
    ["another file", "[include]\n\tpath = ../x\n"],
    ["hooks elsewhere", "[core]\n\thooksPath = .hooks\n"],
    ["a line that goes on", "[core]\n\tx = y\\\n\tfsmonitor = z\n"],
    ["more than is read", `${"# x\n".repeat(20_000)}[core]\n\tpager = sh\n`],
  ])("may run more where the settings name %s", async (name, text) => {
    const hostile = await repository(`hostile-${name}`, { ".git/config": text });
    expect(await repositoryPrograms(realFiles, hostile)).toContain("names programs");
  });

  it("may run more where it lies in a bare repository, or a work tree of one, that names some", async () => {
    const bare = await repository("bare", { HEAD: "", "objects/x": "", config: "[core]\n\tfsmonitor = x\n" });
    const tree = await repository("tree", { ".git": "gitdir: ../bare/worktrees/t\n" });
    await repository("bare", { "worktrees/t/commondir": "../..\n" });
    for (const path of [bare, join(bare, "objects"), tree]) {
      expect(await repositoryPrograms(realFiles, path)).toContain("names programs");
    }
  });
});
