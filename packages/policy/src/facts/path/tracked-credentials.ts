import { posix } from "node:path";
import { constants, inflateSync } from "node:zlib";
import { type FileFilter, includesFile } from "../file-filter.ts";
import type { FilePort } from "../files.ts";
import { gitIndexAround } from "./git-index.ts";
import { isCredentials } from "./place-table.ts";

/** One says as much as many. */
const MOST_REPORTED = 3;

/**
 * The file with keys whose content git keeps under a hash, or its beginning; `unknown` for content that is no longer
 * that of any file. What is packed away is not looked at.
 */
export async function credentialsByHash(
  files: FilePort,
  folder: string,
  hash: string,
): Promise<string | "unknown" | undefined> {
  const real = (await files.realpath(folder).catch(() => undefined)) ?? posix.normalize(folder);
  const index = await gitIndexAround(files, posix.join(real, "any")).catch(() => undefined);
  if (index === undefined) return undefined;
  const start = hash.toLowerCase();
  const names = [...index.files].filter(([, file]) => file.hash.startsWith(start)).map(([name]) => name);
  const guarded = names.find((name) => isCredentials(`/${name}`));
  if (guarded !== undefined) return posix.join(index.root, guarded);
  const isKept = names.length === 0 && (await isLooseContent(files, index.root, start));
  return isKept ? "unknown" : undefined;
}

/** More objects than this with the same first byte are not looked through. */
const MOST_OBJECTS = 4_096;
const OBJECT_LIMIT = 16 * 1_024 * 1_024;

/** Whether an object that git has not packed is the content of a file, and no commit. */
async function isLooseContent(files: FilePort, root: string, start: string): Promise<boolean> {
  const folder = posix.join(root, ".git/objects", start.slice(0, 2));
  const entries = (await files.list(folder, MOST_OBJECTS).catch(() => undefined)) ?? [];
  const found = entries.find(({ name }) => name.startsWith(start.slice(2)));
  const bytes =
    found && (await files.bytes(posix.join(folder, found.name), OBJECT_LIMIT).catch(() => undefined));
  if (!bytes) return false;
  try {
    const head = inflateSync(bytes.subarray(0, 512), {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: 65_536,
    });
    return head.subarray(0, 5).toString("latin1") === "blob ";
  } catch {
    return true;
  }
}

/** Files with keys that git keeps of a work tree, as far as its index tells, and that a program shows. */
export async function trackedCredentials(
  files: FilePort,
  folder: string,
  filter: FileFilter,
): Promise<readonly string[]> {
  const real = (await files.realpath(folder).catch(() => undefined)) ?? posix.normalize(folder);
  const index = await gitIndexAround(files, posix.join(real, "any")).catch(() => undefined);
  if (index === undefined) return [];
  const found: string[] = [];
  for (const name of index.files.keys()) {
    if (found.length === MOST_REPORTED) break;
    if (isCredentials(`/${name}`) && includesFile(filter, posix.basename(name))) found.push(name);
  }
  return found.map((name) => posix.join(index.root, name));
}
