import { posix } from "node:path";
import type { FilePort } from "../files.ts";
import { type Sight, seesFile } from "../sight.ts";
import { gitIndexAround } from "./git-index.ts";
import { isCredentials } from "./place-table.ts";

/** One says as much as many. */
const MOST_TOLD = 3;

/** Files with keys that git keeps of a work tree, as far as its index tells, and that a program shows. */
export async function trackedCredentials(
  files: FilePort,
  folder: string,
  sight: Sight,
): Promise<readonly string[]> {
  const real = (await files.realpath(folder).catch(() => undefined)) ?? posix.normalize(folder);
  const index = await gitIndexAround(files, posix.join(real, "any")).catch(() => undefined);
  if (index === undefined) return [];
  const found: string[] = [];
  for (const name of index.files.keys()) {
    if (found.length === MOST_TOLD) break;
    if (isCredentials(`/${name}`) && seesFile(sight, posix.basename(name))) found.push(name);
  }
  return found.map((name) => posix.join(index.root, name));
}
