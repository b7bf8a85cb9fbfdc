import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { rejectionOf } from "../test/rejection.ts";
import { scratchFolder } from "../test/scratch-folder.ts";
import { machineDisk } from "./disk.ts";

it("knows what is ours and what is not", async () => {
  const path = await scratchFolder();
  expect(await machineDisk.folder(path)).toEqual({ mode: 0o700, ours: true });
  if (process.geteuid?.() !== 0) {
    expect((await machineDisk.folder("/"))?.ours).toBe(false);
    return;
  }
  await chown(path, 65534, 65534);
  expect((await machineDisk.folder(path))?.ours).toBe(false);
});

it("says plainly that nothing is there", async () => {
  const nowhere = join(await scratchFolder(), "nowhere");
  expect(await machineDisk.folder(nowhere)).toBeUndefined();
  expect(await machineDisk.names(nowhere)).toEqual([]);
  expect(await machineDisk.read(nowhere, 10)).toBeUndefined();
  expect(await machineDisk.has(nowhere)).toBe(false);
  expect(await machineDisk.remove(nowhere)).toBe(false);
});

it("makes folders within folders, for the owner alone", async () => {
  const top = await scratchFolder();
  const path = join(top, "a", "b", "c");
  await machineDisk.makeFolder(path);
  await machineDisk.makeFolder(path);
  for (const folder of [join(top, "a"), join(top, "a", "b"), path])
    expect((await machineDisk.folder(folder))?.mode).toBe(0o700);
});

it("never writes over a file that is there", async () => {
  const path = join(await scratchFolder(), "file");
  await machineDisk.create(path, Buffer.from("first"));
  await expect(machineDisk.create(path, Buffer.from("second"))).rejects.toThrow("EEXIST");
  expect(await machineDisk.read(path, 10)).toEqual({ bytes: Buffer.from("first"), mode: 0o600, ours: true });
});

it("reads nothing but plain files of a bounded size", async () => {
  const top = await scratchFolder();
  const [file, link, folder] = ["file", "link", "folder"].map((name) => join(top, name));
  await writeFile(file!, "12345");
  await chmod(file!, 0o644);
  await symlink(file!, link!);
  await mkdir(folder!);
  expect(await machineDisk.read(file!, 5)).toMatchObject({ mode: 0o644 });
  expect((await rejectionOf(() => machineDisk.read(file!, 4))).message).toContain("more than 4 bytes");
  expect((await rejectionOf(() => machineDisk.read(link!, 5))).message).toContain("is a link");
  for (const path of [folder!, devNull])
    expect((await rejectionOf(() => machineDisk.read(path, 5))).message).toContain("is not a file");
});
