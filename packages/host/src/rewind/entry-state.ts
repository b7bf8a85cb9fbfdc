import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, join } from "node:path";
import { hasCode } from "@reins/kit";
import { blake3Hasher } from "@reins/ledger";
import { z } from "zod";
import { HeldFolder } from "../files/held-folder.ts";
import { versionOf } from "../files/unpack.ts";

/** What is at a path. A file that is too large to be kept has no hash. */
export const EntryState = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("absent") }),
  z.object({
    kind: z.literal("file"),
    hash: z.string().optional(),
    size: z.number(),
    mode: z.number().optional(),
  }),
  z.object({ kind: z.literal("link"), target: z.string() }),
  z.object({ kind: z.literal("folder"), mode: z.number().optional() }),
  /** A device, a pipe or a socket. */
  z.object({ kind: z.literal("other") }),
]);
export type EntryState = z.infer<typeof EntryState>;

/** Whether two states are the same for who reads them; permissions do not count. */
export function isSame(one: EntryState, other: EntryState): boolean {
  if (one.kind === "file" && other.kind === "file")
    return one.hash !== undefined && one.hash === other.hash && one.size === other.size;
  if (one.kind === "link" && other.kind === "link") return one.target === other.target;
  return one.kind === other.kind && one.kind !== "other";
}

/** What is at a path now. */
export interface EntryNow {
  readonly state: EntryState;
  /** The content, where it is not too large to be kept. */
  readonly content?: Buffer;
  readonly version?: string;
}

/** The largest file that is read to know whether it was changed. */
const MOST_HASHED = 64 * 1024 * 1024;
const CHUNK = 256 * 1024;
const ABSENT: EntryState = { kind: "absent" };

/** Finds what is at a path, reached without following links; with the content of a file up to so many bytes. */
export async function entryAt(path: string, most: number): Promise<EntryNow> {
  let parent: HeldFolder;
  try {
    parent = await HeldFolder.parent(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return { state: ABSENT };
    throw error;
  }
  try {
    return await entryIn(parent, basename(path), most);
  } finally {
    await parent.close();
  }
}

async function entryIn(folder: HeldFolder, name: string, most: number): Promise<EntryNow> {
  const stats = await folder.look(name);
  if (!stats) return { state: ABSENT };
  const mode = stats.mode & 0o7777;
  if (stats.isDirectory()) return { state: { kind: "folder", mode } };
  if (stats.isSymbolicLink()) return { state: { kind: "link", target: await folder.readLink(name) } };
  if (!stats.isFile()) return { state: { kind: "other" } };
  try {
    const { file, stats: opened } = await folder.read(name);
    return await contentOf(file, opened, most).finally(() => file.close());
  } catch (error) {
    if (!hasCode(error, "EACCES", "EPERM")) throw error;
    return { state: { kind: "file", size: stats.size }, version: versionOf(stats) };
  }
}

/** Reads a file to its end: its hash, and its content where that is not too large. */
async function contentOf(file: FileHandle, stats: Stats, most: number): Promise<EntryNow> {
  const { size } = stats;
  const state = { kind: "file", size, mode: stats.mode & 0o7777 } as const;
  const version = versionOf(stats);
  if (size > MOST_HASHED) return { state, version };
  const hasher = await blake3Hasher();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of file.createReadStream({ highWaterMark: CHUNK, autoClose: false })) {
    hasher.update(chunk);
    length += chunk.length;
    if (size <= most) chunks.push(chunk);
  }
  const content = size <= most && length === size ? Buffer.concat(chunks) : undefined;
  return { state: { ...state, size: length, hash: hasher.digest() }, version, ...(content && { content }) };
}

/** Visits all that is in a folder, up to so many entries; returns whether that was all. */
export async function walkFolder(
  path: string,
  most: number,
  entries: number,
  visit: (path: string, found: EntryNow) => void,
): Promise<boolean> {
  let count = 0;
  let bytes = 0;
  const folders = [path];
  for (let at = folders.shift(); at !== undefined; at = folders.shift()) {
    const folder = await HeldFolder.open(at);
    try {
      for await (const { name } of folder.entries()) {
        const found = await entryIn(folder, name, most);
        count += 1;
        bytes += found.content?.length ?? 0;
        if (count > entries || bytes > MOST_HASHED) return false;
        visit(join(at, name), found);
        if (found.state.kind === "folder") folders.push(join(at, name));
      }
    } finally {
      await folder.close();
    }
  }
  return true;
}
