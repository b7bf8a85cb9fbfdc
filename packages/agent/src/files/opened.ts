import { constants } from "node:fs";
import { type FileHandle, open, readlink } from "node:fs/promises";
import { FileError, systemCode } from "./file-error.ts";
import type { Roots } from "./roots.ts";

/** Uses a file within the roots: resolved, opened, and looked at through the descriptor, so that nobody can swap it. */
export async function withFile<Result>(
  roots: Roots,
  path: string,
  use: (file: FileHandle) => Promise<Result>,
): Promise<Result> {
  const real = await roots.resolve(path);
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  const file = await open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).catch((error: unknown) => {
    throw translated(error, path);
  });
  try {
    await roots.expectInside(await placeOf(file, real), path);
    if (!(await file.stat()).isFile()) throw new FileError("not_a_file", `${path} is no file`);
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Where a descriptor really leads. Only Linux tells; elsewhere it is where it was opened. */
export async function placeOf({ fd }: FileHandle, opened: string): Promise<string> {
  return readlink(`/proc/self/fd/${fd}`).catch(() => opened);
}

/** The beginning of an open file. */
export async function beginningOf(file: FileHandle, bytes: number): Promise<Buffer> {
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
  const code = systemCode(error);
  if (code === "ENOENT") return new FileError("missing", `there is no file ${path}`);
  if (code === "EISDIR") return new FileError("not_a_file", `${path} is a folder`);
  if (code === "ELOOP") return new FileError("outside", `${path} became a link`);
  if (code === "EACCES" || code === "EPERM") return new FileError("missing", `${path} cannot be read`);
  return error instanceof Error ? error : new Error(String(error));
}
