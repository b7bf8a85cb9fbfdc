import { lstat, mkdir, open, readlink, realpath, symlink } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CliError, EXIT, errorMessage, systemCode } from "../../errors.ts";
import { databaseIn } from "../../home.ts";

/**
 * Sees to it that the database of a home lies where it is said to: the home links to it, so that every other command
 * finds it too. A home has one database, so what is there already is not replaced.
 */
export async function placeDatabase(home: string, path: string): Promise<void> {
  const link = databaseIn(home);
  const present = await whereIs(link);
  if (present === undefined) return makeLink(link, path);
  if (present === path || (await same(link, path))) return;
  const unlink = present === link ? "" : ` && rm ${link}`;
  throw new CliError(`The database of ${home} is ${present}, and not ${path}.`, {
    next: `Leave --db out, choose another home, or stop Reins and move it: mv ${present} ${path}${unlink}`,
  });
}

async function makeLink(link: string, path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // The home keeps others out; this folder may not. What SQLite puts beside the file has the same mode.
    await (await open(path, "a", 0o600)).close();
    await symlink(path, link);
  } catch (error) {
    throw new CliError(`The database cannot lie at ${path}: ${errorMessage(error)}`, {
      next: "Choose another place with --db, or leave it out to keep it in the home.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

/** Where the database of a home lies; `undefined` for a home that has none. */
async function whereIs(link: string): Promise<string | undefined> {
  try {
    return (await lstat(link)).isSymbolicLink() ? resolve(dirname(link), await readlink(link)) : link;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function same(left: string, right: string): Promise<boolean> {
  const [one, other] = await Promise.all([left, right].map((path) => realpath(path).catch(() => undefined)));
  return one !== undefined && one === other;
}
