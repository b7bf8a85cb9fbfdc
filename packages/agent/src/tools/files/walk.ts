import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../../files/file-error.ts";

/** Something in a folder, by its path from where the walk began. */
export interface Found {
  readonly path: string;
  readonly isFolder: boolean;
}

/** Folders that hold what nobody wrote here. They are named, and not gone into. */
export const PASSED_OVER: ReadonlySet<string> = new Set([".git", "node_modules"]);
/** How much is looked at, whatever is found. */
const MAX_SEEN = 50_000;

/**
 * Walks a folder, level by level and in order, without following links. `goesInto` says which folders are of interest.
 */
export async function* walk(root: string, goesInto: (path: string) => boolean): AsyncIterable<Found> {
  let level = [""];
  let seen = 0;
  while (level.length > 0) {
    const next: string[] = [];
    for (const folder of level) {
      for (const entry of await entriesOf(join(root, folder), MAX_SEEN - seen)) {
        seen += 1;
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        const isFolder = entry.isDirectory();
        yield { path, isFolder };
        if (isFolder && !PASSED_OVER.has(entry.name) && goesInto(path)) next.push(path);
      }
      if (seen >= MAX_SEEN) return;
    }
    level = next;
  }
}

async function entriesOf(folder: string, limit: number): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      entries.push(entry);
      if (entries.length >= limit) break;
    }
  } catch (error) {
    // A folder may be closed to us, or gone by now.
    if (systemCode(error) !== "EACCES" && systemCode(error) !== "ENOENT") throw error;
  }
  return entries.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}
