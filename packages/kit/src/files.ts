import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { errorCode, hasCode } from "./errors.ts";

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
