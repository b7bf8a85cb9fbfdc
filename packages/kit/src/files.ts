import { randomUUID } from "node:crypto";
import { link, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "./errors.ts";

/**
 * Replaces a file atomically, readable by this user only, and creates its folders. A reader sees the old or the new
 * content, whole, also after a power cut.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  await put(path, content, (fresh) => rename(fresh, path));
}

/** Creates a file in the same way. Returns false if it exists, also when another process creates it at the same time. */
export async function createFile(path: string, content: string | Uint8Array): Promise<boolean> {
  try {
    await put(path, content, (fresh) => link(fresh, path));
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
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
