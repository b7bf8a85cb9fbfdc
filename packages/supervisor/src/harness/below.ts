import { createHash } from "node:crypto";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** How much of a folder is looked at; of a larger one the rest is not told apart. */
const MAX_ENTRIES = 2_000;

/** A digest of what lies below a folder: names, kinds, sizes and times. Links are not followed. */
export async function digestBelow(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const pending = [""];
  let entries = 0;
  // The list grows while it is gone through, level by level, so that the same tree is always read in the same order.
  for (const inside of pending) {
    const names = (await readdir(join(folder, inside))).toSorted();
    for (const name of names) {
      if (entries === MAX_ENTRIES) return `sha256:${hash.digest("hex")} of the first ${MAX_ENTRIES} entries`;
      entries += 1;
      const path = join(inside, name);
      const found = await lstat(join(folder, path));
      if (found.isDirectory()) pending.push(path);
      const facts = found.isDirectory() ? ["folder"] : [found.mode, found.size, found.mtimeMs, found.ino];
      hash.update(`${JSON.stringify([path, ...facts])}\n`);
    }
  }
  return `sha256:${hash.digest("hex")}`;
}
