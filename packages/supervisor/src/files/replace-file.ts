import { randomUUID } from "node:crypto";
import { link, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Puts a file, for this user only, in the place of what was there, with the folders it lies in. Whoever reads it sees
 * the old or the new, whole, also after a power cut.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  await put(path, content, (fresh) => rename(fresh, path));
}

/** Makes a file in the same way, unless there is one already, also if another process is about to. Says whether it did. */
export async function createFile(path: string, content: string | Uint8Array): Promise<boolean> {
  try {
    await put(path, content, (fresh) => link(fresh, path));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function put(
  path: string,
  content: string | Uint8Array,
  name: (fresh: string) => Promise<void>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomUUID()}`;
  try {
    await writeFile(fresh, content, { flag: "wx", mode: 0o600, flush: true });
    await name(fresh);
  } finally {
    await rm(fresh, { force: true });
  }
}
