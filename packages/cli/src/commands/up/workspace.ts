import { mkdir, realpath } from "node:fs/promises";
import { relative, sep } from "node:path";

/**
 * The folder in which sessions work that name none: the first that was given, else the one that this command runs in,
 * else, because nobody works around or inside a home, one beside the home.
 */
export async function sessionWorkspace(
  home: string,
  workspaces: readonly string[],
  current: string,
): Promise<string> {
  const [given] = workspaces;
  if (given !== undefined) return given;
  const [inside, around] = await Promise.all([realpath(home), realpath(current)]);
  if (!holds(inside, around) && !holds(around, inside)) return current;
  const beside = `${home}-workspace`;
  await mkdir(beside, { recursive: true, mode: 0o700 });
  return beside;
}

/** Where it was said in which folders to work. */
export function workspaceSource({ workspace }: { readonly workspace?: readonly string[] }): string {
  return workspace === undefined ? "A folder under workspaces in reins.yaml" : "--workspace";
}

function holds(folder: string, other: string): boolean {
  const way = relative(folder, other);
  return way !== ".." && !way.startsWith(`..${sep}`);
}
