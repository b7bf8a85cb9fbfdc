import { posix } from "node:path";
import type { FilePort } from "../files.ts";
import { type GitIndex, gitIndexAround, type TrackedFile } from "./repository.ts";

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
  if (kind !== "folder") return isUnchanged(search, path);
  const entries = await files.list(path, left.count + 1);
  if (entries === undefined) return false;
  for (const { name } of entries) if (!(await isKept(search, posix.join(path, name)))) return false;
  return true;
}

/** Whether a file is as git put it away. */
async function isUnchanged({ files, index }: Search, path: string): Promise<boolean> {
  if (index === undefined) return false;
  const tracked = index.files.get(posix.relative(index.root, path));
  const state = await files.state(path);
  if (tracked === undefined || state === undefined) return false;
  // What was changed at the very time the index was written may look as if it was not.
  return state.modified < index.written && looksLike(tracked, state);
}

function looksLike({ size, seconds, nanoseconds }: TrackedFile, state: { size: number; modified: bigint }) {
  const [whole, part] = [state.modified / 1_000_000_000n, state.modified % 1_000_000_000n];
  const isSameTime = whole === BigInt(seconds) && (nanoseconds === 0 || part === BigInt(nanoseconds));
  return isSameTime && state.size % 2 ** 32 === size;
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
