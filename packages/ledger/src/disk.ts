import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { syncFolder } from "@reins/kit";
import { LedgerError } from "./ledger-error.ts";

/** A file as it was found: what it holds, and who else may reach it. */
interface FoundFile {
  readonly bytes: Uint8Array;
  /** The permission bits; `undefined` where the system has none. */
  readonly mode: number | undefined;
  /** Whether it belongs to the user of this process; true where the system cannot say. */
  readonly ours: boolean;
}

/** A folder as it was found. */
type FoundFolder = Omit<FoundFile, "bytes">;

/**
 * The disk as keys and artifacts see it; a test brings its own. Every method fails with the system's error, except that
 * what is not there is `undefined`, `false` or empty.
 */
export interface Disk {
  /** Makes a folder and those above it, for the owner alone, and waits until they are on the disk. */
  makeFolder(path: string): Promise<void>;
  /** Who may reach a folder. */
  folder(path: string): Promise<FoundFolder | undefined>;
  /** What a folder holds, sorted. */
  names(path: string): Promise<readonly string[]>;
  /** Reads a regular file of at most so many bytes, through one descriptor; anything else there is corrupt. */
  read(path: string, most: number): Promise<FoundFile | undefined>;
  /** Whether there is a regular file. */
  has(path: string): Promise<boolean>;
  /** Makes a file, for the owner alone, that must not be there yet, and waits until its bytes are on the disk. */
  create(path: string, bytes: Uint8Array): Promise<void>;
  /** Moves a file over whatever has the other name, in one step. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; whether it was there. */
  remove(path: string): Promise<boolean>;
  /** Waits until the names in a folder are on the disk. */
  sync(folder: string): Promise<void>;
}

const OWNER_ONLY_FOLDER = 0o700;
const OWNER_ONLY_FILE = 0o600;

/** Windows knows neither; opening a pipe in place of a file must not wait for its writer. */
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

/** What keys and artifacts need of the machine; a test brings its own. */
export interface Ports {
  readonly disk: Disk;
  /** As many unpredictable bytes as asked for. */
  readonly randomBytes: (size: number) => Uint8Array;
  readonly now: () => Date;
}

/** The machine itself, with what the caller brings instead. */
export function portsWith(own: Partial<Ports>): Ports {
  return { disk: machineDisk, randomBytes: (size) => randomBytes(size), now: () => new Date(), ...own };
}

/** Longer than any write takes; what is older was left behind by a process that died. */
const LEFTOVER_AGE = 60 * 60 * 1000;
const TEMPORARY = /^\.new-([0-9a-z]+)-[0-9a-f]+$/;

/**
 * Puts a file in place whole or not at all: written beside its place, on the disk, before it takes its name. Settles
 * when the name is on the disk as well. `staging` is where it is written, on the same disk as its place.
 */
export async function writeWhole(
  { disk, randomBytes, now }: Ports,
  staging: string,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  const random = Buffer.from(randomBytes(8)).toString("hex");
  const temporary = join(staging, `.new-${now().getTime().toString(36)}-${random}`);
  try {
    await disk.create(temporary, bytes);
    await disk.rename(temporary, path);
  } catch (error) {
    // The failure matters more than the litter, which is swept up later.
    await disk.remove(temporary).catch(() => false);
    throw error;
  }
  await disk.sync(dirname(path));
}

/** Removes what processes that died left in a staging folder. What may still be in the making stays. */
export async function sweepLeftovers({ disk, now }: Ports, staging: string): Promise<void> {
  const time = now().getTime();
  for (const name of await disk.names(staging)) {
    const made = TEMPORARY.exec(name)?.[1];
    if (made === undefined || Math.abs(time - Number.parseInt(made, 36)) < LEFTOVER_AGE) continue;
    await disk.remove(join(staging, name));
  }
}
