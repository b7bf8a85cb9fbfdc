import { posix } from "node:path";
import { entersFolder, type FileFilter, includesFile } from "../file-filter.ts";
import type { FilePort, FolderEntry } from "../files.ts";
import { isCredentials } from "./place-table.ts";
import { shellGlob } from "./shell-glob.ts";

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
 * Files with keys, tokens or passwords in a folder or else in the folders in it, as far as a quick look tells and a
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
      fits: shellGlob(line.replace(/^\//, ""), { matchesDots: true }),
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
  const globs = names?.map((name) => shellGlob(name.toLowerCase(), { matchesDots: true }));
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
