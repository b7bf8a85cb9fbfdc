import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ALL_FILES, type FileFilter } from "../file-filter.ts";
import { realFiles } from "../files.ts";
import { credentialsBelow } from "./credentials.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-below-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function lay(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), "");
  }
}

const found = async (filter: Partial<FileFilter> = {}) =>
  (await credentialsBelow(realFiles, folder, { ...ALL_FILES, ...filter })).map((path) =>
    path.slice(folder.length + 1),
  );

test("what lies in a folder is found, or else what lies in the folders in it", async () => {
  await lay("README.md", ".env.example", "config/tls.key", "config/tls.crt", "b/.env");
  expect((await found()).toSorted()).toEqual(["b/.env", "config/tls.key"]);
  await lay(".env", ".ssh/id");
  expect((await found()).toSorted()).toEqual([".env", ".ssh/*"]);
});

test("what lies deeper, or with the packages of others, is not found", async () => {
  await lay("a/b/.env", "node_modules/x.pem", ".git/x.pem");
  expect(await found()).toEqual([]);
});

test("no link is followed", async () => {
  await lay("elsewhere/deep/key.pem", "src/index.ts");
  await symlink(join(folder, "elsewhere", "deep"), join(folder, "link"));
  expect(await found()).toEqual([]);
});

test("what a program passes by is not found", async () => {
  await lay(".env", "secrets.json", "keys/tls.key", ".hidden/tls.key");
  expect(await found({ hidden: false })).toEqual(["secrets.json"]);
  expect(await found({ hidden: false, notFiles: ["secrets.json"] })).toEqual(["keys/tls.key"]);
  expect(await found({ only: ["*.json"] })).toEqual(["secrets.json"]);
  expect(await found({ notFiles: [".env"], notFolders: ["keys", ".hidden"] })).toEqual(["secrets.json"]);
});

test("what a repository ignores is passed by where the program heeds that, and surely so", async () => {
  await lay("secrets.json", "sub/secrets.json", "tls.key", ".git/HEAD");
  const filter = { ignored: false };
  const all = (await found()).toSorted();
  expect(all).toEqual(["secrets.json", "tls.key"]);
  await writeFile(join(folder, ".gitignore"), "# mine\n/secrets.json\n*.key\n");
  expect(await found(filter)).toEqual(["sub/secrets.json"]);
  await writeFile(join(folder, ".gitignore"), "*.json\n*.key\n!tls.key\n");
  expect((await found(filter)).toSorted()).toEqual(all);
  await rm(join(folder, ".git"), { recursive: true });
  await writeFile(join(folder, ".gitignore"), "*.json\n*.key\n");
  expect((await found(filter)).toSorted()).toEqual(all);
});

test("a folder that holds too much, or cannot be read, is not looked through", async () => {
  await lay(".env");
  const files = { ...realFiles, list: async () => undefined };
  expect(await credentialsBelow(files, folder, ALL_FILES)).toEqual([]);
  const locked = { ...realFiles, list: () => Promise.reject(new Error("no permission")) };
  expect(await credentialsBelow(locked, folder, ALL_FILES)).toEqual([]);
});
