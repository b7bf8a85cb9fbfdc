import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readlink, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode, replaceFile } from "@reins/kit";
import { FileError, Roots } from "./roots.ts";

/** A file that is open: where it really lies, and its state. */
export interface OpenedFile {
  readonly path: string;
  /** Whether its descriptor says so; otherwise it is the path that was opened. */
  readonly isCertain: boolean;
  readonly state: Pick<Stats, "dev" | "ino" | "size" | "mtimeMs" | "ctimeMs" | "nlink" | "isFile">;
}

/**
 * Opens a file within the roots. It is checked through its descriptor, so that it cannot be swapped after the check.
 */
export async function withFile<Result>(
  roots: Roots,
  path: string,
  use: (file: FileHandle, opened: OpenedFile) => Promise<Result>,
): Promise<Result> {
  const real = await roots.resolve(path);
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  const file = await open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).catch((error: unknown) => {
    throw translated(error, path);
  });
  try {
    const [known, state] = await Promise.all([descriptorPath(file), file.stat()]);
    const opened = known ?? real;
    await roots.requireInside(opened, path);
    if (!state.isFile()) throw new FileError("not_a_file", `${path} is not a file`);
    const isCertain = known !== undefined && !known.endsWith(DELETED);
    return await use(file, { path: opened, isCertain, state });
  } finally {
    await file.close();
  }
}

/** What Linux puts behind the path of a file that has been deleted. */
const DELETED = " (deleted)";

/** The real path of a descriptor. Only Linux knows it. */
async function descriptorPath({ fd }: FileHandle): Promise<string | undefined> {
  return readlink(`/proc/self/fd/${fd}`).catch(() => undefined);
}

/** Reads the start of an open file. */
export async function readStart(file: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let length = 0;
  while (length < bytes) {
    const { bytesRead } = await file.read(buffer, length, bytes - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function translated(error: unknown, path: string): Error {
  const code = errorCode(error);
  if (code === "ENOENT") return new FileError("missing", `there is no file ${path}`);
  if (code === "EISDIR") return new FileError("not_a_file", `${path} is a folder`);
  if (code === "ELOOP") return new FileError("outside", `${path} was replaced by a link`);
  if (code === "EACCES" || code === "EPERM") return new FileError("missing", `${path} cannot be read`);
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * Opens a folder within the roots and passes a path that stays valid: on Linux that of its descriptor, so that moving
 * folders cannot redirect it. `make` creates a missing folder.
 */
export async function withFolder<Result>(
  roots: Roots,
  path: string,
  { make }: { readonly make: boolean },
  use: (base: string) => Promise<Result>,
): Promise<Result> {
  const real = await roots.resolve(path);
  if (make) await mkdir(real, { recursive: true });
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const folder = await open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") throw new FileError("missing", `there is no folder ${path}`);
    if (errorCode(error) === "ENOTDIR") throw new FileError("not_a_folder", `${path} is not a folder`);
    throw error;
  });
  try {
    const opened = (await descriptorPath(folder)) ?? real;
    await roots.requireInside(opened, path);
    return await use(process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : opened);
  } finally {
    await folder.close();
  }
}

/** Throws unless a real path is a folder; `shown` is the path as given. */
export async function requireFolder(real: string, shown: string): Promise<void> {
  const found = await stat(real).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") throw new FileError("missing", `there is no folder ${shown}`);
    throw error;
  });
  if (!found.isDirectory()) throw new FileError("not_a_folder", `${shown} is not a folder`);
}

/** Replaces a file atomically: readers see the old or the new content. Missing folders are created. */
export async function writeAtomically(roots: Roots, path: string, content: string): Promise<void> {
  const real = await roots.resolve(path);
  const name = basename(real);
  await withFolder(roots, dirname(real), { make: true }, async (base) => {
    const mode = (await modeOf(join(base, name), path)) ?? 0o666 & ~process.umask();
    await replaceFile(join(base, name), content, mode);
  });
}

/** The mode of the file that is replaced; `undefined` when there is none. */
async function modeOf(at: string, path: string): Promise<number | undefined> {
  try {
    const found = await lstat(at);
    if (found.isDirectory()) throw new FileError("not_a_file", `${path} is a folder`);
    return found.isFile() ? found.mode & 0o777 : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Decodes UTF-8 that may be cut within a character; `undefined` when the bytes are no text. */
export function decodeText(bytes: Buffer, isCut: boolean): string | undefined {
  const whole = isCut ? bytes.subarray(0, wholeLength(bytes)) : bytes;
  if (whole.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(whole);
  } catch {
    return undefined;
  }
}

/** The length of the whole characters in UTF-8. */
function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Whether a path, relative to a folder, may be read; of a file that is open, with its state. */
export type MayRead = (path: string, opened?: OpenedFile) => boolean | Promise<boolean>;

/** The most names of a folder that are read. */
export const MAX_NAMES = 1_000;

/** A folder to read in. What is outside, missing or may not be read does not exist. */
export class ReadableFolder {
  readonly #roots: Roots;
  readonly #mayRead: MayRead;

  constructor(path: string, mayRead: MayRead) {
    this.#roots = new Roots(path);
    this.#mayRead = mayRead;
  }

  /** The names in a folder; those of folders end with a slash. */
  async list(path: string): Promise<readonly string[]> {
    const [mayRead, real] = await Promise.all([
      this.#mayRead(path),
      ifReadable(() => this.#roots.resolve(path)),
    ]);
    if (!mayRead || real === undefined) return [];
    const entries = await ifReadable(() => readdir(real, { withFileTypes: true }));
    const names = (entries ?? []).slice(0, MAX_NAMES);
    return names.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted();
  }

  /** The beginning of a text file. Permission is checked only for a file that exists: most do not. */
  read(path: string, maxBytes: number): Promise<string | undefined> {
    return ifReadable(() =>
      withFile(this.#roots, path, async (file, opened) =>
        (await this.#mayRead(path, opened))
          ? decodeText(await readStart(file, Math.min(maxBytes, opened.state.size)), true)
          : undefined,
      ),
    );
  }
}

const ABSENT: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM"]);

async function ifReadable<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  return read().catch((error: unknown) => {
    if (error instanceof FileError || ABSENT.has(errorCode(error))) return undefined;
    throw error;
  });
}
