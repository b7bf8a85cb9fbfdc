import { readFile, writeFile } from "node:fs/promises";
import type { Random } from "../../../scripts/torture/random.ts";

const SECTOR = 512;

/** The files of a database in SQLite, as they are read back after a power cut. */
export interface DatabaseImage {
  readonly database: Buffer;
  readonly log: Buffer;
}

/** Ways in which a disk loses what was not synced. */
export type PowerCut = "cut off" | "scribbled over" | "sectors missing";

/** The files as they are. */
export async function imageOf(path: string): Promise<DatabaseImage> {
  return { database: await readFile(path), log: await readFile(`${path}-wal`) };
}

/** The image after a power cut, in which the log is as it was up to a byte, and what follows is unknown. */
export function cutPower(
  { database, log }: DatabaseImage,
  how: PowerCut,
  at: number,
  random: Pick<Random, "int" | "bytes" | "chance">,
): DatabaseImage {
  if (how === "cut off") return { database, log: log.subarray(0, at) };
  const damaged = Buffer.from(log);
  if (how === "scribbled over") {
    damaged.set(random.bytes(Math.min(damaged.length - at, 1 + random.int(5_000))), at);
    return { database, log: damaged };
  }
  for (let start = at; start < damaged.length; start = (Math.floor(start / SECTOR) + 1) * SECTOR) {
    const end = (Math.floor(start / SECTOR) + 1) * SECTOR;
    if (start === at || random.chance(0.3)) damaged.fill(0, start, Math.min(end, damaged.length));
  }
  return { database, log: damaged };
}

/** Puts an image where a database can be opened. */
export async function restore({ database, log }: DatabaseImage, path: string): Promise<void> {
  await writeFile(path, database);
  await writeFile(`${path}-wal`, log);
}
