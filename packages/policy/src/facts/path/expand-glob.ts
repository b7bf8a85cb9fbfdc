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
  let found: readonly string[] = ["/"];
  for (const part of pattern.split("/").filter((one) => one !== "" && one !== ".")) {
    const matches: string[] = [];
    if (part === "**") return undefined;
    const isGlob = /[*?[]/.test(part.replace(/\\./g, ""));
    const matcher = isGlob ? shellGlob(part) : undefined;
    if (isGlob && !matcher) return undefined;
    for (const folder of found) {
      const prefix = folder === "/" ? "/" : `${folder}/`;
      if (!matcher) {
        matches.push(prefix + part.replace(/\\(.)/g, "$1"));
        continue;
      }
      const real = await files.realpath(folder);
      if (real === undefined || (await files.lstat(real)) !== "folder") continue;
      const names = await files.list(folder, NAME_LIMIT);
      if (names === undefined) return undefined;
      for (const name of names) if (matcher(name)) matches.push(prefix + name);
      if (matches.length > MATCH_LIMIT) return undefined;
    }
    found = matches;
  }
  return found;
}
