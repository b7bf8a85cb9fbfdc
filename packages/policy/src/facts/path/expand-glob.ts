import type { FilePort } from "../files.ts";
import { shellGlob } from "./shell-glob.ts";

const NAME_LIMIT = 2_000;
const MATCH_LIMIT = 500;

/**
 * The paths that a shell's glob matches; `undefined` when there are too many to tell, or a folder cannot be read. Like
 * a shell, it does not match names that start with a dot unless the pattern says so.
 * @param pattern absolute, its literal characters escaped
 */
export async function expandGlob(files: FilePort, pattern: string): Promise<readonly string[] | undefined> {
  let found: readonly string[] | undefined = ["/"];
  for (const part of pattern.split("/").filter((one) => one !== "" && one !== ".")) {
    if (found === undefined || found.length > MATCH_LIMIT) return undefined;
    if (part === "**") found = await foldersBelow(files, found);
    else if (/[*?[]/.test(part.replace(/\\./g, ""))) found = await matchesIn(files, found, part);
    else found = found.map((folder) => joined(folder, part.replace(/\\(.)/g, "$1")));
  }
  return found;
}

async function matchesIn(
  files: FilePort,
  folders: readonly string[],
  part: string,
): Promise<readonly string[] | undefined> {
  const matcher = shellGlob(part);
  if (!matcher) return undefined;
  const matches: string[] = [];
  for (const folder of folders) {
    const real = await files.realpath(folder);
    if (real === undefined || (await files.lstat(real)) !== "folder") continue;
    const entries = await files.list(folder, NAME_LIMIT);
    if (entries === undefined) return undefined;
    for (const { name } of entries) if (matcher(name)) matches.push(joined(folder, name));
  }
  return matches;
}

/** Some shells take `**` for all folders below, hidden ones and links left out; to others it is one folder. */
async function foldersBelow(
  files: FilePort,
  folders: readonly string[],
): Promise<readonly string[] | undefined> {
  const all = [...folders];
  let names = 0;
  // The list grows while it is gone through.
  for (const folder of all) {
    if ((await files.lstat(folder)) !== "folder") continue;
    const entries = await files.list(folder, NAME_LIMIT);
    names += entries?.length ?? NAME_LIMIT;
    if (entries === undefined || names > NAME_LIMIT) return undefined;
    for (const { name, isFolder } of entries)
      if (isFolder && !name.startsWith(".")) all.push(joined(folder, name));
  }
  return all;
}

function joined(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}
