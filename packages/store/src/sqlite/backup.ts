import { access, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { StoreError } from "../store-error.ts";
import type { DatabaseFile } from "./sqlite-database.ts";

/** Copies a database to a new file, which has its name only when it is whole, and then also after a power cut. */
export async function backUp(database: DatabaseFile, path: string): Promise<void> {
  const partial = `${path}.partial`;
  if (await isThere(path)) throw new StoreError("invalid", `${path} is there already`);
  await rm(partial, { force: true });
  await database.backup(partial);
  await rename(partial, path);
  await syncFolder(dirname(path));
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Windows keeps names without being asked, and cannot be asked. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
