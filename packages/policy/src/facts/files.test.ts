import { chmod, link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { realFiles, tableFile } from "./files.ts";

let folder: string;
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "reins-files-")));
  await mkdir(at("dir"));
  for (const name of ["file", "dir/a", "dir/b", "dir/c"]) await writeFile(at(name), "0123456789");
  await link(at("file"), at("second-name"));
  await symlink("dir", at("link"));
  await symlink("nowhere", at("dangling"));
  await symlink("loop", at("loop"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the file system of the machine", () => {
  it("distinguishes kinds, and does not follow the last link", async () => {
    const kinds = ["file", "dir", "link", "dangling", "loop", "none", "file/below"];
    expect(await Promise.all(kinds.map((name) => realFiles.lstat(at(name))))).toEqual([
      "file",
      "folder",
      "link",
      "link",
      "link",
      undefined,
      undefined,
    ]);
    expect(await realFiles.lstat("/dev/null")).toBe("other");
  });

  it("follows all links, and says nothing of what is not there", async () => {
    expect(await realFiles.realpath(at("link/../link/a"))).toBe(at("dir/a"));
    expect(await realFiles.realpath(at("dangling"))).toBeUndefined();
    expect(await realFiles.realpath(at("file/below"))).toBeUndefined();
    expect(await realFiles.readlink(at("link"))).toBe("dir");
    expect(await realFiles.readlink(at("none"))).toBeUndefined();
  });

  it("fails where it cannot read, so that this does not count as nothing", async () => {
    await expect(realFiles.realpath(at("loop"))).rejects.toThrow("ELOOP");
    await expect(realFiles.lstat(at("x".repeat(300)))).rejects.toThrow("ENAMETOOLONG");
    await expect(realFiles.readlink(at("file"))).rejects.toThrow("EINVAL");
    await expect(realFiles.readStart(at("dir"), 4)).rejects.toThrow("EISDIR");
    await mkdir(at("shut"));
    await chmod(at("shut"), 0);
    // Who may do everything may also look into this.
    if (process.getuid?.() !== 0) await expect(realFiles.lstat(at("shut/x"))).rejects.toThrow("EACCES");
    await chmod(at("shut"), 0o700);
  });

  it("lists a folder up to a limit, and nothing beyond it", async () => {
    const names = async (limit: number) => (await realFiles.list(at("dir"), limit))?.map(({ name }) => name);
    expect((await names(3))?.toSorted()).toEqual(["a", "b", "c"]);
    expect(await names(2)).toBeUndefined();
    expect(await realFiles.list(at("none"), 3)).toBeUndefined();
    const entries = await realFiles.list(folder, 20);
    expect(entries).toContainEqual({ name: "link", isFolder: false, isLink: true });
    expect(entries).toContainEqual({ name: "dir", isFolder: true, isLink: false });
  });

  it("reads no more of a file than is asked for", async () => {
    expect(await realFiles.readStart(at("file"), 4)).toBe("0123");
    expect(await realFiles.readStart(at("file"), 40)).toBe("0123456789");
    expect(Buffer.from((await realFiles.slice(at("file"), 8, 4)) ?? []).toString()).toBe("89");
    expect((await realFiles.slice(at("file"), 20, 4))?.length).toBe(0);
    expect((await realFiles.bytes(at("file"), 10))?.length).toBe(10);
    expect(await realFiles.bytes(at("file"), 9)).toBeUndefined();
    for (const read of [realFiles.readStart, realFiles.bytes])
      expect(await read(at("none"), 4)).toBeUndefined();
    expect(await realFiles.slice(at("none"), 0, 4)).toBeUndefined();
  });

  it("knows a file again by its other names, and only one that has some", async () => {
    const identity = await realFiles.linkedIdentity(at("file"));
    expect(identity).toBeDefined();
    expect(await realFiles.linkedIdentity(at("second-name"))).toBe(identity);
    expect(await realFiles.linkedIdentity(at("dir/a"))).toBeUndefined();
    expect(await realFiles.linkedIdentity(at("dir"))).toBeUndefined();
  });

  it("reports when a file was changed, also where its other time was set back", async () => {
    const state = await realFiles.state(at("dir/a"));
    expect(state).toMatchObject({ size: 10 });
    expect(state && state.changed >= state.modified).toBe(true);
    expect(await realFiles.state(at("none"))).toBeUndefined();
  });
});

it("a table that does not fit is a fault, and not an empty table", () => {
  expect(() => tableFile("variables.json", z.strictObject({ other: z.string() }))).toThrow();
  expect(() => tableFile("none.json", z.unknown())).toThrow("ENOENT");
});
