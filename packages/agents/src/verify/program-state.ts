import { createHash } from "node:crypto";
import { lstat, readdir } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import type { AgentEntry } from "../agent-entry.ts";
import type { InstalledAgent } from "../install/installer.ts";
import { readProvenance } from "../install/provenance.ts";

/** How many files are looked at at once. */
const AT_ONCE = 64;

/**
 * Tells one state of an agent's program from another: by the lockfile it was installed from and the size and time of
 * every file of the install, or, for one that was there already, by those of the files it is started from.
 */
export async function programState({ start }: AgentEntry, { folder }: InstalledAgent): Promise<string> {
  const provenance = await readProvenance(folder);
  if (provenance) return sha256([provenance.lock, ...(await treeOf(folder))]);
  const named = [typeof start?.file === "string" ? start.file : "", ...(start?.args ?? [])];
  const states = await Promise.all(named.filter((path) => isAbsolute(path)).map(stateOf));
  return sha256(states);
}

function sha256(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** The files of an install, in order. Its own note of where it came from does not count. */
async function treeOf(folder: string): Promise<readonly unknown[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const states: unknown[] = [];
  for (let start = 0; start < paths.length; start += AT_ONCE) {
    const some = await Promise.all(paths.slice(start, start + AT_ONCE).map(stateOf));
    states.push(...some.map(([path, ...state]) => [relative(folder, String(path)), ...state]));
  }
  return states;
}

async function stateOf(path: string): Promise<readonly unknown[]> {
  try {
    const { size, mtimeMs } = await lstat(path);
    return [path, size, mtimeMs];
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return [path];
    throw error;
  }
}
