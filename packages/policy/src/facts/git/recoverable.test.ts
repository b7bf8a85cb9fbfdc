import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, realpath, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { realFiles } from "../files.ts";
import { isRecoverable } from "./recoverable.ts";

let folder: string;
const git = (cwd: string, ...words: string[]) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...words], {
    cwd,
    env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" },
    stdio: "pipe",
  });

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "recoverable-")));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function repository(name: string, version: string): Promise<string> {
  const root = join(folder, name);
  await mkdir(join(root, "src/deep"), { recursive: true });
  const names = [
    "a.txt",
    "src/b.txt",
    "src/deep/c.txt",
    "src/deep/größe.txt",
    "src/deep/cc.txt",
    "staged.txt",
  ];
  for (const path of names) await writeFile(join(root, path), `${path}\n`);
  await writeFile(join(root, ".gitignore"), "dist/\n*.log\n");
  git(root, "init", "-q");
  git(root, "config", "index.version", version);
  git(root, "add", ".");
  git(root, "commit", "-qm", "first");
  await mkdir(join(root, "dist"));
  await writeFile(join(root, "dist/out.js"), "out\n");
  await writeFile(join(root, "run.log"), "log\n");
  await writeFile(join(root, "src/new.txt"), "untracked\n");
  await writeFile(join(root, "a.txt"), "changed since\n");
  return root;
}

describe.each(["2", "3", "4"])("an index of version %s", (version) => {
  it("distinguishes what git can restore from what it cannot", async () => {
    const root = await repository(`v${version}`, version);
    const is = (path: string) => isRecoverable(realFiles, join(root, path));
    for (const path of [
      "src/b.txt",
      "src/deep",
      "src/deep/größe.txt",
      "staged.txt",
      "not/there",
      "dist",
      "run.log",
    ])
      expect([path, await is(path)]).toEqual([path, true]);
    for (const path of ["a.txt", "src/new.txt", "src", ".git", "."])
      expect([path, await is(path)]).toEqual([path, false]);
    git(root, "update-index", "--add", "--cacheinfo", `100644,${"0".repeat(39)}1,ghost.txt`);
    await writeFile(join(root, "ghost.txt"), "never put away\n");
    expect(await is("ghost.txt")).toBe(false);
    git(root, "add", "--intent-to-add", "src/new.txt");
    expect(await is("src/new.txt")).toBe(false);
    git(root, "add", "src/new.txt");
    expect(await is("src/new.txt")).toBe(true);
  });
});

it("a work tree has its own index, and a folder without a repository loses all", async () => {
  const root = await repository("main", "2");
  git(root, "worktree", "add", "-q", "../side");
  expect(await isRecoverable(realFiles, join(folder, "side/src/b.txt"))).toBe(true);
  await mkdir(join(folder, "plain/node_modules/x"), { recursive: true });
  await writeFile(join(folder, "plain/file"), "x");
  expect(await isRecoverable(realFiles, join(folder, "plain/file"))).toBe(false);
  expect(await isRecoverable(realFiles, join(folder, "plain/node_modules"))).toBe(true);
});

it("an index that is cut, damaged or of another kind brings nothing back", async () => {
  const root = await repository("damaged", "2");
  const index = (await realFiles.bytes(join(root, ".git/index"), 1_000_000)) ?? new Uint8Array();
  for (const bytes of [index.subarray(0, 40), index.subarray(0, 90), new Uint8Array(100), new Uint8Array()]) {
    await writeFile(join(root, ".git/index"), bytes);
    expect(await isRecoverable(realFiles, join(root, "src/b.txt"))).toBe(false);
  }
});

describe("a file whose time was set back", () => {
  it("is not recoverable where its content is another one of the same length", async () => {
    const root = await repository("set-back", "2");
    const path = join(root, "staged.txt");
    const before = await stat(path, { bigint: true });
    await writeFile(path, "Staged.txt\n");
    await utimes(path, Number(before.atimeMs) / 1_000, Number(before.mtimeMs) / 1_000);
    expect(await isRecoverable(realFiles, path)).toBe(false);
    await writeFile(path, "staged.txt\n");
    expect(await isRecoverable(realFiles, path)).toBe(true);
  });

  it("is recoverable where only its times are others, as in a copy of the repository", async () => {
    const root = await repository("copied", "2");
    const copy = join(folder, "copied-too");
    await cp(root, copy, { recursive: true });
    for (const path of ["staged.txt", "src/b.txt", "src/deep"])
      expect(await isRecoverable(realFiles, join(copy, path))).toBe(true);
    await writeFile(join(copy, "src/deep/c.txt"), "src/deep/C.txt\n");
    expect(await isRecoverable(realFiles, join(copy, "src/deep"))).toBe(false);
  });
});
