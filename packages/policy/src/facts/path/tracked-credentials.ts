import { posix } from "node:path";
import type { FilePort } from "../files.ts";
import { repositoryAround } from "../repository.ts";
import { type Sight, seesFile } from "../sight.ts";
import { isCredentials } from "./place-table.ts";

/** More of an index than this is not looked at. */
const INDEX_LIMIT = 8 * 1_024 * 1_024;
/** One says as much as many. */
const MOST_TOLD = 3;

/** Files with keys that git keeps of a work tree, as far as its index tells, and that a program shows. */
export async function trackedCredentials(
  files: FilePort,
  folder: string,
  sight: Sight,
): Promise<readonly string[]> {
  const repository = await repositoryAround(files, folder).catch(() => undefined);
  if (repository === undefined) return [];
  const index = await files
    .readStart(posix.join(repository.folder, "index"), INDEX_LIMIT)
    .catch(() => undefined);
  const found = namesIn(index ?? "").filter(
    (name) => isCredentials(`/${name}`) && seesFile(sight, posix.basename(name)),
  );
  return found.slice(0, MOST_TOLD).map((name) => posix.join(repository.root, name));
}

/**
 * The paths in an index: each ends with a NUL and follows two bytes of flags, the first of which is 0 for all that are
 * shorter than 256. What lies between them is no path, and makes none that is guarded.
 */
function namesIn(index: string): readonly string[] {
  if (!index.startsWith("DIRC")) return [];
  return index.split("\0").flatMap((piece) => {
    const name = /[^\p{Cc}]+$/u.exec(piece.slice(-4_096))?.[0];
    return name === undefined ? [] : [name];
  });
}
