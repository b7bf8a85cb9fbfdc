import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createFile, ifExists, readJsonFile, replaceFile, replaceFileIf } from "./files.ts";

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reins-replace-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("a file takes the place of the one before, for this user only, and leaves nothing beside it", async () => {
  const folder = join(await newFolder(), "made", "for", "it");
  const path = join(folder, "file");
  await replaceFile(path, "one");
  await replaceFile(path, new TextEncoder().encode("two"));
  expect(await readFile(path, "utf8")).toBe("two");
  expect((await stat(path)).mode & 0o077).toBe(0);
  expect(await readdir(folder)).toEqual(["file"]);
});

test("a file has the permissions that are wanted, and stays where it is no longer to be replaced", async () => {
  const path = join(await newFolder(), "file");
  await replaceFile(path, "one", 0o751);
  expect((await stat(path)).mode & 0o777).toBe(0o751);
  expect(await replaceFileIf(path, "two", async () => false)).toBe(false);
  expect(await readFile(path, "utf8")).toBe("one");
  expect(await replaceFileIf(path, "two", async () => true, 0o640)).toBe(true);
  expect([await readFile(path, "utf8"), (await stat(path)).mode & 0o777]).toEqual(["two", 0o640]);
  expect(await readdir(join(path, ".."))).toEqual(["file"]);
});

test("a file has the longest name that there is, in any script", async () => {
  const folder = await newFolder();
  for (const name of ["x".repeat(255), "\u6587".repeat(85), `x${"\u{1f600}".repeat(63)}`]) {
    await replaceFile(join(folder, name), "one");
    expect(await readFile(join(folder, name), "utf8")).toBe("one");
  }
  expect(await readdir(folder)).toHaveLength(3);
});

test("what cannot take its place leaves nothing beside it either", async () => {
  const folder = await newFolder();
  await mkdir(join(folder, "file", "full"), { recursive: true });
  await expect(replaceFile(join(folder, "file"), "x")).rejects.toThrow();
  expect(await readdir(folder)).toEqual(["file"]);
});

test("of many who make the same file at once one does, and all see what it wrote", async () => {
  const folder = await newFolder();
  const path = join(folder, "made", "file");
  const made = await Promise.all(Array.from({ length: 20 }, (_, one) => createFile(path, `by ${one}`)));
  expect(made.filter((isMine) => isMine)).toHaveLength(1);
  expect(await readFile(path, "utf8")).toBe(`by ${made.indexOf(true)}`);
  expect(await createFile(path, "later")).toBe(false);
  expect(await readdir(join(folder, "made"))).toEqual(["file"]);
});

test("a file that does not exist reads as undefined, and so does JSON that is none or does not fit", async () => {
  const folder = await newFolder();
  const path = join(folder, "file");
  expect(await ifExists(readFile(path))).toBeUndefined();
  await expect(ifExists(readFile(folder))).rejects.toThrow("EISDIR");
  const schema = z.object({ a: z.number() });
  expect(await readJsonFile(path, schema)).toBeUndefined();
  for (const [text, value] of [
    ['{"a":', undefined],
    ['{"a":"1"}', undefined],
    ['{"a":1}', { a: 1 }],
  ] as const) {
    await writeFile(path, text);
    expect(await readJsonFile(path, schema)).toEqual(value);
  }
  expect(await readJsonFile(join(path, "below"), schema)).toBeUndefined();
});
