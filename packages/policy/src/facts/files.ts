import { readFileSync } from "node:fs";
import { lstat, open, opendir, readlink, realpath } from "node:fs/promises";
import type { z } from "zod";

/** What lies at a path, its last symlink not followed. */
export type FileKind = "file" | "folder" | "link" | "other";

/** A name in a folder. */
export interface FolderEntry {
  readonly name: string;
  /** Whether it is a folder itself, and no link to one. */
  readonly isFolder: boolean;
  readonly isLink?: boolean;
}

/** What a file looks like from outside, its last symlink not followed. */
interface FileState {
  readonly size: number;
  /** Nanoseconds since 1970. */
  readonly modified: bigint;
  /** When its content or anything else about it changed, which no program can set back; nanoseconds since 1970. */
  readonly changed: bigint;
}

/**
 * What facts need to see of a file system, and nothing that changes it. `undefined` says that nothing is there; any
 * other reason for not answering (no permission, a loop, a name too long) is a rejection.
 */
export interface FilePort {
  /** The path with every symlink followed, spelled as the file system has it. */
  realpath(path: string): Promise<string | undefined>;
  lstat(path: string): Promise<FileKind | undefined>;
  /** Where a symlink leads, as it is written. */
  readlink(path: string): Promise<string | undefined>;
  /** What is in a folder; `undefined` also when that is more than `limit`. */
  list(path: string, limit: number): Promise<readonly FolderEntry[] | undefined>;
  /** The beginning of a file, at most `limit` bytes. */
  readStart(path: string, limit: number): Promise<string | undefined>;
  /** What a file that has several names is known by under each of them; `undefined` for one that has a single name. */
  linkedIdentity(path: string): Promise<string | undefined>;
  /** A part of a file; less where it ends before. */
  slice(path: string, from: number, length: number): Promise<Uint8Array | undefined>;
  /** A whole file of at most `limit` bytes. */
  bytes(path: string, limit: number): Promise<Uint8Array | undefined>;
  state(path: string): Promise<FileState | undefined>;
}

/** The file system of the machine. */
export const realFiles: FilePort = {
  realpath: (path) => orNothing(realpath(path)),
  readlink: (path) => orNothing(readlink(path)),
  async lstat(path) {
    const found = await orNothing(lstat(path));
    if (found === undefined) return undefined;
    if (found.isSymbolicLink()) return "link";
    if (found.isDirectory()) return "folder";
    return found.isFile() ? "file" : "other";
  },
  async list(path, limit) {
    const folder = await orNothing(opendir(path, { bufferSize: 256 }));
    if (folder === undefined) return undefined;
    const entries: FolderEntry[] = [];
    // Leaving the loop closes the folder.
    for await (const entry of folder) {
      if (entries.length === limit) return undefined;
      entries.push({ name: entry.name, isFolder: entry.isDirectory(), isLink: entry.isSymbolicLink() });
    }
    return entries;
  },
  async linkedIdentity(path) {
    const found = await orNothing(lstat(path));
    return found?.isFile() && found.nlink > 1 ? `${found.dev}:${found.ino}` : undefined;
  },
  async readStart(path, limit) {
    const file = await orNothing(open(path, "r"));
    if (file === undefined) return undefined;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  },
  async slice(path, from, length) {
    const file = await orNothing(open(path, "r"));
    if (file === undefined) return undefined;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  },
  async bytes(path, limit) {
    const file = await orNothing(open(path, "r"));
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      return size > limit ? undefined : await file.readFile();
    } finally {
      await file.close();
    }
  },
  async state(path) {
    const found = await orNothing(lstat(path, { bigint: true }));
    return found && { size: Number(found.size), modified: found.mtimeNs, changed: found.ctimeNs };
  },
};

async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) {
      return undefined;
    }
    throw error;
  }
}

/** Reads one of the package's own data files. A file that does not fit is a fault of the release: nothing that needs it can be decided. */
export function tableFile<T>(name: string, schema: z.ZodType<T>): T {
  const file = new URL(`../../tables/${name}`, import.meta.url);
  return schema.parse(JSON.parse(readFileSync(file, "utf8")));
}
