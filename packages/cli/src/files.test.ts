import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requireFolder, writeNewFile } from "./files.ts";

describe("a new file", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-file-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("is written completely and is private", async () => {
    const path = join(folder, "new");
    await writeNewFile(path, ["one\n", Buffer.from("two\n")]);
    expect(await readFile(path, "utf8")).toBe("one\ntwo\n");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("never replaces an existing file", async () => {
    await expect(writeNewFile(join(folder, "new"), ["three"])).rejects.toMatchObject({
      message: expect.stringContaining("already exists"),
      exitCode: 2,
    });
    expect(await readFile(join(folder, "new"), "utf8")).toBe("one\ntwo\n");
  });

  it("is removed when writing fails", async () => {
    async function* pieces() {
      yield "half";
      throw new Error("the source broke");
    }
    await expect(writeNewFile(join(folder, "half"), pieces())).rejects.toThrow("the source broke");
    expect(await readdir(folder)).toEqual(["new"]);
  });

  it("is removed when writing is cancelled", async () => {
    const off = new AbortController();
    async function* pieces() {
      yield "half";
      off.abort();
      yield "another";
    }
    await expect(writeNewFile(join(folder, "half"), pieces(), off.signal)).rejects.toMatchObject({
      message: expect.stringContaining("was cancelled"),
      exitCode: 1,
    });
    expect(await readdir(folder)).toEqual(["new"]);
  });

  it("reports a folder that does not exist", async () => {
    await expect(writeNewFile(join(folder, "no", "such"), [])).rejects.toMatchObject({ exitCode: 1 });
  });
});

it("accepts an existing folder as a workspace and rejects anything else", async () => {
  await expect(requireFolder(tmpdir(), "--cwd")).resolves.toBeUndefined();
  await expect(requireFolder(join(tmpdir(), "no", "such"), "--cwd")).rejects.toThrow("--cwd cannot be used");
  await expect(requireFolder(fileURLToPath(import.meta.url), "--cwd")).rejects.toThrow("is not a folder");
});
