import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FilePort, realFiles } from "../files.ts";
import { PathResolver } from "./resolve.ts";

let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "reins-resolve-")));
  await mkdir(join(folder, "a/b"), { recursive: true });
  await mkdir(join(folder, "other/deep"), { recursive: true });
  await writeFile(join(folder, "a/file"), "");
  await symlink("../other/deep", join(folder, "a/link"));
  await symlink("nowhere/yet", join(folder, "a/dangling"));
  await symlink("loop", join(folder, "loop"));
  await symlink("/proc/self/cwd", join(folder, "cwd"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const resolve = (path: string) =>
  new PathResolver(realFiles).resolve(join(folder, "x").replace(/x$/, "") + path);

describe("a path", () => {
  it.each([
    ["a/file", "a/file", true],
    ["a//./file", "a/file", true],
    ["a/b/../file", "a/file", true],
    ["a/link", "other/deep", true],
    ["a/link/..", "other", true],
    ["a/link/../../a/file", "a/file", true],
    ["a/new", "a/new", false],
    ["a/new/deeper/still", "a/new/deeper/still", false],
    ["a/new/../link/x", "other/deep/x", false],
    ["a/link/new", "other/deep/new", false],
    ["a/dangling", "a/nowhere/yet", false],
    ["a/dangling/x", "a/nowhere/yet/x", false],
    ["a/file/below", "a/file/below", false],
    ["a/b/", "a/b", true],
  ])("%s leads to %s", async (given, expected, exists) => {
    expect(await resolve(given)).toEqual({ path: join(folder, expected), exists });
  });

  it.each(["loop", "loop/x", "cwd", "cwd/x", "a/\0x", "a/".repeat(3_000)])(
    "%j has an unknown target",
    async (given) => {
      expect((await resolve(given)).doubt).toBeDefined();
    },
  );

  it.each(["/proc/self/root/etc", "/proc/1/cwd", "/proc/self/../self/fd/1", "/dev/fd/3"])(
    "%s is different for everybody",
    async (path) => {
      expect((await new PathResolver(realFiles).resolve(path)).doubt).toContain(
        "another file for every process",
      );
    },
  );

  it("that cannot be read has an unknown target", async () => {
    const denied = Object.assign(new Error("denied"), { code: "EACCES" });
    const files: FilePort = { ...realFiles, realpath: () => Promise.reject(denied) };
    expect((await new PathResolver(files).resolve("/somewhere")).doubt).toContain("EACCES");
  });

  it("is followed once, however often it is asked for", async () => {
    let calls = 0;
    const count = (path: string) => {
      calls += 1;
      return realFiles.realpath(path);
    };
    const files: FilePort = { ...realFiles, realpath: count };
    const resolver = new PathResolver(files);
    await Promise.all([resolver.resolve(folder), resolver.resolve(folder)]);
    expect(calls).toBe(1);
  });
});
