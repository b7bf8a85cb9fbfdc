import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { z } from "zod";
import { errorCode, hasCode } from "./errors.ts";

/**
 * Replaces a file atomically and durably, and creates its folders. A reader sees the old or the new content, whole, also
 * after a power cut. Without a mode, it is for this user only.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  await replaceFileIf(path, content, async () => true, mode);
}

/** The same where something still holds once the content is on the disk. Returns whether it did. */
export async function replaceFileIf(
  path: string,
  content: string | Uint8Array,
  isWanted: () => Promise<boolean>,
  mode: number = OWNER_ONLY,
): Promise<boolean> {
  return put(path, content, mode, async (fresh) => {
    const replaces = await isWanted();
    if (replaces) await rename(fresh, path);
    return replaces;
  });
}

/** Creates a file in the same way. Returns false if it exists, also when another process creates it at the same time. */
export async function createFile(path: string, content: string | Uint8Array): Promise<boolean> {
  try {
    return await put(path, content, OWNER_ONLY, async (fresh) => {
      await link(fresh, path);
      return true;
    });
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

const OWNER_ONLY = 0o600;

async function put(
  path: string,
  content: string | Uint8Array,
  mode: number,
  name: (fresh: string) => Promise<boolean>,
): Promise<boolean> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // A name has up to 255 bytes, and a character up to four.
  const beginning = Buffer.from(basename(path)).subarray(0, 100).toString();
  const fresh = join(folder, `.${beginning}.${randomUUID()}`);
  try {
    const file = await open(fresh, "wx", mode);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    const isNamed = await name(fresh);
    if (isNamed) await syncFolder(folder);
    return isNamed;
  } finally {
    await rm(fresh, { force: true });
  }
}

/** Has the names in a folder reach the disk. Windows cannot open a folder, and flushes its names itself. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The result of a file operation; undefined if the file does not exist. */
export async function ifExists<Result>(operation: Promise<Result>): Promise<Result | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Reads a JSON file by a schema; undefined if it does not exist or is malformed. */
export async function readJsonFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.safeParse(JSON.parse(await readFile(path, "utf8"))).data;
  } catch (error) {
    if (error instanceof SyntaxError || hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}
