import { lstat, mkdir, open, readlink, realpath, symlink } from "node:fs/promises";
import { dirname, relative, resolve, sep } from "node:path";
import { errorMessage } from "@reins/kit";
import { CliError, EXIT, systemCode } from "../../errors.ts";
import { databaseIn } from "../../home.ts";

/**
 * Links the database of a home to another path, so that every command finds it. Never replaces a database that
 * exists.
 */
export async function linkDatabase(home: string, path: string): Promise<void> {
  const link = databaseIn(home);
  const present = await databasePath(link);
  if (present === undefined) return makeLink(link, path);
  if (present === path || (await isSameFile(link, path))) return;
  const unlink = present === link ? "" : ` && rm ${link}`;
  throw new CliError(`The database of ${home} is ${present}, and not ${path}.`, {
    next: `Leave --db out, choose another home, or stop Reins and move it: mv ${present} ${path}${unlink}`,
  });
}

async function makeLink(link: string, path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // The home is private; this folder may not be. SQLite creates its files with the same mode.
    await (await open(path, "a", 0o600)).close();
    await symlink(path, link);
  } catch (error) {
    throw new CliError(`The database cannot be at ${path}: ${errorMessage(error)}`, {
      next: "Choose another path with --db, or leave it out to keep it in the home.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

async function databasePath(link: string): Promise<string | undefined> {
  try {
    return (await lstat(link)).isSymbolicLink() ? resolve(dirname(link), await readlink(link)) : link;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function isSameFile(left: string, right: string): Promise<boolean> {
  const [one, other] = await Promise.all([left, right].map((path) => realpath(path).catch(() => undefined)));
  return one !== undefined && one === other;
}

/**
 * The folder of sessions that name none: the first given one, else the current folder, else one beside the home,
 * because no session may work inside or around a home.
 */
export async function sessionWorkspace(
  home: string,
  workspaces: readonly string[],
  current: string,
): Promise<string> {
  const [given] = workspaces;
  if (given !== undefined) return given;
  const [inside, around] = await Promise.all([realpath(home), realpath(current)]);
  if (!contains(inside, around) && !contains(around, inside)) return current;
  const beside = `${home}-workspace`;
  await mkdir(beside, { recursive: true, mode: 0o700 });
  return beside;
}

function contains(folder: string, other: string): boolean {
  const way = relative(folder, other);
  return way !== ".." && !way.startsWith(`..${sep}`);
}
