import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { LedgerError } from "../ledger-error.ts";
import type { Disk, FoundFolder } from "./disk.ts";

const OWNER_ONLY_FOLDER = 0o700;
const OWNER_ONLY_FILE = 0o600;

/** Windows knows neither; opening a pipe that somebody left in place of a file must not wait for its writer. */
const READ_THE_FILE_ITSELF = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The machine's disk. */
export const machineDisk: Disk = {
  async makeFolder(path) {
    const first = await mkdir(path, { recursive: true, mode: OWNER_ONLY_FOLDER });
    const top = dirname(resolve(first ?? path));
    for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
      await syncFolder(folder);
      if (folder === top) return;
    }
  },

  async folder(path) {
    const found = await unlessMissing(stat(path), undefined);
    return found && reachOf(found);
  },

  async names(path) {
    return (await unlessMissing(readdir(path), [])).sort();
  },

  async read(path, most) {
    const file = await unlessMissing(open(path, READ_THE_FILE_ITSELF), undefined).catch(
      (error: NodeJS.ErrnoException) => {
        throw error.code === "ELOOP" ? new LedgerError("corrupt", `${path} is a link, not a file`) : error;
      },
    );
    if (!file) return undefined;
    try {
      const found = await file.stat();
      if (!found.isFile()) throw new LedgerError("corrupt", `${path} is not a file`);
      if (found.size > most) throw new LedgerError("corrupt", `${path} holds more than ${most} bytes`);
      return { bytes: await file.readFile(), ...reachOf(found) };
    } finally {
      await file.close();
    }
  },

  async has(path) {
    return (await unlessMissing(lstat(path), undefined))?.isFile() ?? false;
  },

  async create(path, bytes) {
    const file = await open(path, "wx", OWNER_ONLY_FILE);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  },

  rename,

  remove: (path) =>
    unlessMissing(
      unlink(path).then(() => true),
      false,
    ),

  sync: syncFolder,
};

/** Windows cannot open a folder, and keeps its names by itself. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function reachOf(found: Stats): FoundFolder {
  const user = process.geteuid?.();
  if (user === undefined) return { mode: undefined, ours: true };
  return { mode: found.mode & 0o777, ours: found.uid === user };
}

function unlessMissing<Found, Missing>(wanted: Promise<Found>, missing: Missing): Promise<Found | Missing> {
  return wanted.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return missing;
    throw error;
  });
}
