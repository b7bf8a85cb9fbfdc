import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { VersionFolders } from "./version-folders.ts";

let top = "";
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "reins-versions-"));
});
afterEach(() => rm(top, { recursive: true, force: true }));

const contentOf = (version: string) => readFile(join(top, version, "program"), "utf8");

async function install(content: string): Promise<VersionFolders> {
  const folders = new VersionFolders(top);
  const partial = await folders.begin();
  await writeFile(join(partial, "program"), content);
  await folders.finish(partial, "1.0.0");
  return folders;
}

describe("a version that is installed again", () => {
  test("takes the place of the one before, and leaves nothing beside it", async () => {
    await install("one");
    const folders = await install("two");
    expect(await contentOf("1.0.0")).toBe("two");
    expect([await folders.current(), await folders.all()]).toEqual(["1.0.0", ["1.0.0"]]);
    expect((await readdir(top)).sort()).toEqual(["1.0.0", "current"]);
  });

  test("and cannot take its place leaves the one before", async () => {
    const folders = await install("one");
    await expect(folders.finish(join(top, "none"), "1.0.0")).rejects.toThrow("ENOENT");
    expect(await contentOf("1.0.0")).toBe("one");
    expect((await readdir(top)).sort()).toEqual(["1.0.0", "current"]);
  });

  test("and was cut off between its renames gives the one before its place again", async () => {
    const folders = await install("one");
    await rename(join(top, "1.0.0"), join(top, `.replaced-${crypto.randomUUID()}-1.0.0`));
    await rm(await folders.begin(), { recursive: true });
    expect(await contentOf("1.0.0")).toBe("one");
    expect((await readdir(top)).sort()).toEqual(["1.0.0", "current"]);
  });

  test("and was cut off after them is finished", async () => {
    const folders = await install("two");
    await mkdir(join(top, `.replaced-${crypto.randomUUID()}-1.0.0`));
    await rm(await folders.begin(), { recursive: true });
    expect(await contentOf("1.0.0")).toBe("two");
    expect((await readdir(top)).sort()).toEqual(["1.0.0", "current"]);
  });
});
