import { posix } from "node:path";
import { constants, inflateSync } from "node:zlib";
import { nameGlob } from "../../glob.ts";
import { entersFolder, type FileFilter, includesFile } from "../file-filter.ts";
import type { FilePort, FolderEntry } from "../files.ts";
import { gitIndexAround } from "../git/repository.ts";
import { isCredentials } from "./places.ts";

/** More names than these are not looked at: in the folder, and in each of so many folders in it. */
const MOST_NAMES = 1_000;
const MOST_FOLDERS = 24;
const MOST_NAMES_BELOW = 200;
/** One says as much as many. */
const MOST_REPORTED = 3;
const MOST_IGNORING = 4_096;

/** What others have packed, and git's own store: large, and not where people keep their keys. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/**
 * Files with keys, tokens or passwords in a folder or else in the folders in it, as far as a quick look shows and a
 * program reads them. No link is followed.
 */
export async function credentialsBelow(
  files: FilePort,
  folder: string,
  filter: FileFilter,
): Promise<readonly string[]> {
  const here = await look(files, folder, MOST_NAMES);
  const found = await unlessIgnored(files, folder, credentialsIn(folder, here, filter), filter);
  if (found.length > 0) return found.slice(0, MOST_REPORTED);
  const folders = here
    .filter(({ name, isFolder }) => isFolder && !SKIPPED.has(name) && entersFolder(filter, name))
    .slice(0, MOST_FOLDERS)
    .map(({ name }) => joined(folder, name));
  const below = await Promise.all(
    folders.map(async (path) => credentialsIn(path, await look(files, path, MOST_NAMES_BELOW), filter)),
  );
  return (await unlessIgnored(files, folder, below.flat(), filter)).slice(0, MOST_REPORTED);
}

async function unlessIgnored(
  files: FilePort,
  folder: string,
  found: readonly string[],
  { ignored }: FileFilter,
): Promise<readonly string[]> {
  if (found.length === 0 || ignored) return found;
  const isIgnored = await ignoredBy(files, folder);
  return found.filter((path) => !isIgnored(path));
}

function credentialsIn(
  folder: string,
  entries: readonly FolderEntry[],
  filter: FileFilter,
): readonly string[] {
  return entries
    .filter(({ name, isFolder }) => (isFolder ? entersFolder(filter, name) : includesFile(filter, name)))
    .map(({ name, isFolder }) => joined(folder, isFolder ? `${name}/*` : name))
    .filter(isCredentials);
}

/** What is in a folder; nothing where it cannot be read, or holds too much. */
async function look(files: FilePort, folder: string, limit: number): Promise<readonly FolderEntry[]> {
  return (await files.list(folder, limit).catch(() => undefined)) ?? [];
}

/** What a repository's own `.gitignore` surely ignores: files by plain names and globs of names. */
async function ignoredBy(files: FilePort, folder: string): Promise<(path: string) => boolean> {
  const isRepository = (await files.lstat(joined(folder, ".git")).catch(() => undefined)) !== undefined;
  const text = isRepository
    ? await files.readStart(joined(folder, ".gitignore"), MOST_IGNORING).catch(() => undefined)
    : undefined;
  const lines = (text ?? "").split("\n").map((line) => line.trim());
  // What one line ignores, a later one may take back.
  if (lines.some((line) => line.startsWith("!"))) return () => false;
  const globs = lines
    .filter((line) => line !== "" && !line.startsWith("#") && !/.\//.test(line))
    .map((line) => ({
      isHere: line.startsWith("/"),
      fits: nameGlob(line.replace(/^\//, ""), { matchesDots: true }),
    }));
  return (path) => {
    const inside = path.slice(folder.length).replace(/^\//, "").split("/");
    const name = inside.at(-1) ?? "";
    return globs.some(({ isHere, fits }) => (!isHere || inside.length === 1) && fits?.(name) === true);
  };
}

function joined(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/** More names than this are not gone through. */
const NAME_LIMIT = 10_000;
/** More links than this are as good as any. */
const LINK_LIMIT = 16;

/** What a program searches for below a folder. */
export interface Search {
  /** Globs of names, of which one has to fit; everything without them. */
  readonly names?: readonly string[] | undefined;
  /** Whether the paths are put together to one text and taken apart at its blanks. */
  readonly splits: boolean;
}

/**
 * The links among what is found, which may lead anywhere. `undefined` when there is too much to look at, or when a
 * path is not the one word that it is found as.
 */
export async function linksFound(
  files: FilePort,
  folder: string,
  { names, splits }: Search,
): Promise<readonly string[] | undefined> {
  const globs = names?.map((name) => nameGlob(name.toLowerCase(), { matchesDots: true }));
  const fits = (name: string): boolean => globs?.some((glob) => glob?.(name.toLowerCase()) ?? true) ?? true;
  if (splits && /[\s'"\\]/.test(folder)) return undefined;
  const links: string[] = [];
  const folders = [folder];
  let seen = 0;
  // The list grows while it is gone through.
  for (const here of folders) {
    const kind = await files.lstat(here);
    if (kind !== "folder") continue;
    const entries = await files.list(here, NAME_LIMIT);
    seen += entries?.length ?? NAME_LIMIT;
    if (entries === undefined || seen > NAME_LIMIT || links.length > LINK_LIMIT) return undefined;
    for (const { name, isFolder, isLink } of entries) {
      if (splits && /[\s'"\\]/.test(name)) return undefined;
      if (isFolder) folders.push(posix.join(here, name));
      else if (isLink && fits(name)) links.push(posix.join(here, name));
    }
  }
  return links;
}

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

/** Files with keys that git keeps of a work tree, as far as its index lists them, and that a program shows. */
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
