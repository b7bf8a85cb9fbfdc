import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { FilePort } from "../files.ts";
import { type GitIndex, gitIndexAround, type IndexTime } from "./repository.ts";

/** More files than this are not looked through. */
const FILE_LIMIT = 2_000;
const IGNORE_LIMIT = 64 * 1_024;

/** What tools make again by themselves, by names that mean nothing else. */
const MADE_AGAIN =
  /^(?:node_modules|bower_components|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.next|\.nuxt|\.svelte-kit|\.turbo|\.parcel-cache|\.nyc_output|\.gradle|\.dart_tool|\.terraform|\.eggs|.+\.egg-info|.+\.pyc)$/;
/** What builds make, if the repository says that it does not keep it. */
const OUTPUT =
  /^(?:dist|build|out|output|target|coverage|htmlcov|bin|obj|lib|release|debug|tmp|temp|logs?|\.cache|\.venv|venv|vendor|.+\.(?:log|tmp|o|obj|class|tsbuildinfo))$/i;

/**
 * Whether what a path holds can be brought back once it is gone: git has the very content in its index, or a build makes
 * it again. What cannot be found out counts as lost.
 */
export async function isRecoverable(files: FilePort, path: string): Promise<boolean> {
  try {
    const index = await gitIndexAround(files, path);
    return await isKept({ files, index, left: { count: FILE_LIMIT } }, path);
  } catch {
    return false;
  }
}

interface Search {
  readonly files: FilePort;
  readonly index: GitIndex | undefined;
  readonly left: { count: number };
}

async function isKept(search: Search, path: string): Promise<boolean> {
  const { files, left } = search;
  left.count -= 1;
  if (left.count < 0) return false;
  const kind = await files.lstat(path);
  if (kind === undefined || (await isMadeAgain(search, path))) return true;
  if (kind !== "folder") return search.index !== undefined && isUnchanged(files, search.index, path);
  const entries = await files.list(path, left.count + 1);
  if (entries === undefined) return false;
  for (const { name } of entries) if (!(await isKept(search, posix.join(path, name)))) return false;
  return true;
}

/** Whether a file is as git put it away. */
export async function isUnchanged(files: FilePort, index: GitIndex, path: string): Promise<boolean> {
  const tracked = index.files.get(posix.relative(index.root, path));
  const state = await files.state(path);
  if (tracked === undefined || state === undefined || state.size % 2 ** 32 !== tracked.size) return false;
  const isSame = isTime(tracked.modified, state.modified) && isTime(tracked.changed, state.changed);
  // What was changed at the very time the index was written may look as if it was not.
  if (isSame && state.modified < index.written) return true;
  // The time of a change can be set back by who made it, and a copy has others: then the content says.
  return (await hashOf(files, path)) === tracked.hash;
}

function isTime({ seconds, nanoseconds }: IndexTime, time: bigint): boolean {
  const [whole, part] = [time / 1_000_000_000n, time % 1_000_000_000n];
  return whole === BigInt(seconds) && (nanoseconds === 0 || part === BigInt(nanoseconds));
}

/** Larger files are not read. */
const CONTENT_LIMIT = 1_024 * 1_024;

/** The hash that git has for a file's content; `undefined` for one that is large, or a link. */
async function hashOf(files: FilePort, path: string): Promise<string | undefined> {
  if ((await files.lstat(path)) !== "file") return undefined;
  const bytes = await files.bytes(path, CONTENT_LIMIT);
  return bytes && createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

async function isMadeAgain({ files, index }: Search, path: string): Promise<boolean> {
  const name = posix.basename(path);
  if (MADE_AGAIN.test(name)) return true;
  if (index === undefined || !OUTPUT.test(name)) return false;
  return isIgnored((await files.readStart(posix.join(index.root, ".gitignore"), IGNORE_LIMIT)) ?? "", {
    name,
    path: posix.relative(index.root, path),
  });
}

/** Whether a repository's own list names it, in so many words; a list with exceptions for it does not count. */
function isIgnored(list: string, { name, path }: { readonly name: string; readonly path: string }): boolean {
  const lines = list.split("\n").map((line) => line.trim());
  if (lines.some((line) => line.startsWith("!") && line.includes(name))) return false;
  const extension = name.includes(".") ? `*${name.slice(name.lastIndexOf("."))}` : undefined;
  return lines.some((line) => {
    const plain = line.replace(/\/$/, "").replace(/^\*\*\//, "");
    return plain === name || plain === `/${path}` || plain === path || plain === extension;
  });
}
