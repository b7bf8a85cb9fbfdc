import type { FilePort, FolderEntry } from "../files.ts";
import { entersFolder, type Sight, seesFile } from "../sight.ts";
import { isCredentials } from "./place-table.ts";
import { shellGlob } from "./shell-glob.ts";

/** More names than these are not looked at: in the folder, and in each of so many folders in it. */
const MOST_NAMES = 1_000;
const MOST_FOLDERS = 24;
const MOST_NAMES_BELOW = 200;
/** One says as much as many. */
const MOST_TOLD = 3;
const MOST_IGNORING = 4_096;

/** What others have packed, and git's own store: large, and not where people keep their keys. */
const PASSED_BY: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/**
 * Files with keys, tokens or passwords in a folder or else in the folders in it, as far as a quick look tells and a
 * program reads them. No link is followed.
 */
export async function credentialsBelow(
  files: FilePort,
  folder: string,
  sight: Sight,
): Promise<readonly string[]> {
  const here = await look(files, folder, MOST_NAMES);
  const found = await unlessIgnored(files, folder, credentialsIn(folder, here, sight), sight);
  if (found.length > 0) return found.slice(0, MOST_TOLD);
  const folders = here
    .filter(({ name, isFolder }) => isFolder && !PASSED_BY.has(name) && entersFolder(sight, name))
    .slice(0, MOST_FOLDERS)
    .map(({ name }) => joined(folder, name));
  const below = await Promise.all(
    folders.map(async (path) => credentialsIn(path, await look(files, path, MOST_NAMES_BELOW), sight)),
  );
  return (await unlessIgnored(files, folder, below.flat(), sight)).slice(0, MOST_TOLD);
}

async function unlessIgnored(
  files: FilePort,
  folder: string,
  found: readonly string[],
  { ignored }: Sight,
): Promise<readonly string[]> {
  if (found.length === 0 || ignored) return found;
  const isIgnored = await ignoredBy(files, folder);
  return found.filter((path) => !isIgnored(path));
}

function credentialsIn(folder: string, entries: readonly FolderEntry[], sight: Sight): readonly string[] {
  return entries
    .filter(({ name, isFolder }) => (isFolder ? entersFolder(sight, name) : seesFile(sight, name)))
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
