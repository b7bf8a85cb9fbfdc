import { constants } from "node:fs";
import { access, type FileHandle, lstat, open, readlink, realpath, statfs } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { ifExists, replaceFile } from "@reins/kit";

/** The largest file that is read as text. */
const MAX_BYTES = 64 * 1024 * 1024;

/** File systems that show the kernel's state, by the number that `statfs` gives them, wherever they are mounted. */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9f_a0, // proc
  0x62_65_65_72, // sysfs
  0x1c_d1, // devpts
  0x27_e0_eb, // cgroup
  0x63_67_72_70, // cgroup2
  0x64_62_67_20, // debugfs
  0x74_72_61_63, // tracefs
  0x73_63_66_73, // securityfs
  0x62_65_65_70, // configfs
  0xca_fe_4a_11, // bpf
]);

/** A file that is not where it may be. */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly code = "outside";
}

/** Which lines of a file. */
export interface LineRange {
  /** The first line, from 1. */
  readonly line?: number | undefined;
  readonly limit?: number | undefined;
}

/** Reads a text file within the roots, given by where they really lie: opened first, then looked at through the descriptor, then read. */
export async function readText(
  path: string,
  range: LineRange,
  roots: readonly string[],
): Promise<{ content: string }> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    await expectInside(file, path, roots);
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new FileError(`${path} is larger than ${MAX_BYTES} bytes`);
    return { content: linesOf(await file.readFile("utf8"), range) };
  } finally {
    await file.close();
  }
}

/**
 * Reads the beginning of a file that was decided about: opened first, then held against where it was when it was decided.
 * Nothing in the folders that are kept is read.
 */
export async function readDecided(
  real: string,
  most: number,
  kept: readonly string[],
): Promise<{ readonly content: string; readonly size: number }> {
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    await expectInside(file, real, [dirname(real)]);
    if (process.platform === "linux" && (await readlink(`/proc/self/fd/${file.fd}`)) !== real)
      throw new FileError(`${real} has become another file`);
    const realKept = await Promise.all(kept.map((folder) => realpath(folder)));
    if (realKept.some((folder) => isUnder(real, folder)))
      throw new FileError(`${real} belongs to Reins itself`);
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(most, size));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return { content: buffer.toString("utf8", 0, bytesRead), size };
  } finally {
    await file.close();
  }
}

/**
 * Writes a text file within the roots, given by where they really lie, exactly as it is given: whole, or not at all. Its
 * folder has to be there.
 */
export async function writeText(
  path: string,
  content: string,
  roots: readonly string[],
): Promise<Record<string, never>> {
  // Resolved as far as it is there, so that what is opened cannot be a link that was put there meanwhile.
  const target =
    (await realpath(path).catch(() => undefined)) ?? join(await realpath(dirname(path)), basename(path));
  expectUnder(target, roots);
  const [folder, name] = [dirname(target), basename(target)];
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const held = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const isLinux = process.platform === "linux";
    const base = isLinux ? `/proc/self/fd/${held.fd}` : folder;
    if (await showsKernel(base)) throw new FileError(showingKernel(path));
    expectUnder(join(isLinux ? await readlink(base) : await realpath(folder), name), roots);
    await replaceFile(join(base, name), content, await modeAt(join(base, name), path));
    return {};
  } finally {
    await held.close();
  }
}

/** The permissions that a file is to have: those it has, if it may be written, or those of a new one. */
async function modeAt(at: string, path: string): Promise<number> {
  const found = await ifExists(lstat(at));
  if (!found) return 0o666 & ~process.umask();
  if (!found.isFile()) throw new FileError(`${path} is not a file`);
  await access(at, constants.W_OK);
  return found.mode & 0o777;
}

function showingKernel(path: string): string {
  return `${path} shows the state of the system or of a process, this one's own among them`;
}

/** Where a descriptor really leads. Only Linux shows it; elsewhere the path is resolved again. */
async function expectInside(file: FileHandle, path: string, roots: readonly string[]): Promise<void> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new FileError(`${path} is not a file`);
  const isLinux = process.platform === "linux";
  const real = isLinux ? await readlink(`/proc/self/fd/${file.fd}`) : await realpath(path);
  if (isLinux && (await showsKernel(`/proc/self/fd/${file.fd}`))) throw new FileError(showingKernel(path));
  expectUnder(real, roots);
}

/** Whether a path lies in a file system that shows the state of the kernel and of processes; known on Linux alone. */
export async function showsKernel(path: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const system = await statfs(path).catch(() => undefined);
  return system !== undefined && KERNEL_FILE_SYSTEMS.has(system.type);
}

function expectUnder(path: string, roots: readonly string[]): void {
  if (roots.some((root) => isUnder(path, root))) return;
  throw new FileError(`${path} is outside of the session's folders`);
}

function isUnder(path: string, root: string): boolean {
  const way = relative(root, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`);
}

function linesOf(text: string, { line, limit }: LineRange): string {
  if (line === undefined && limit === undefined) return text;
  const first = line === undefined ? 0 : Math.max(0, Math.trunc(line) - 1);
  const after = limit === undefined ? undefined : first + Math.max(0, Math.trunc(limit));
  return text.split("\n").slice(first, after).join("\n");
}

/** As many links as the kernel follows. */
const MOST_LINKS = 40;

/**
 * Where a path leads, also where nothing is: links are followed as far as there are any, and the rest of the path is taken
 * by its names. So a link that leads nowhere lies where it leads to, and whether something is there makes no difference.
 */
export async function realPlace(path: string): Promise<string> {
  const rest = resolve(path).split(sep).filter(Boolean);
  let place: string = sep;
  for (let links = 0; ; ) {
    const name = rest.shift();
    if (name === undefined) return place;
    const next = name === ".." ? resolve(place, "..") : join(place, name);
    const target = name === "." ? "" : await readlink(next).catch(() => undefined);
    if (target === undefined || links === MOST_LINKS) place = next;
    else if (target !== "") {
      links += 1;
      rest.unshift(...target.split(sep).filter(Boolean));
      if (target.startsWith(sep)) place = sep;
    }
  }
}
