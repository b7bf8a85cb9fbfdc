import { chmod, lstat, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "./errors/cli-error.ts";
import { isNotThere } from "./errors/system-code.ts";
import { EXIT } from "./exit-codes.ts";
import { databaseIn, realDatabase } from "./home.ts";
import type { Notice } from "./notice.ts";

const OTHERS = 0o077;
const STICKY = 0o1000;
/** What a database keeps beside itself. */
const BESIDE = ["", "-wal", "-shm", "-journal"] as const;
/** Folders of a home whose content is private. */
const FOLDERS = ["keys", "artifacts", "homes", "mandates"] as const;
/** Files of a home that hold conversations, mail or secrets. */
const FILES = /^reins\.db|\.(?:journal|jsonl|sqlite|token)$|^(?:start-token|board\.md)$/;

/**
 * Takes everything private in a home from other users, and says of each path that they could look into it. A home that
 * belongs to another user, or is shared on purpose, is refused.
 */
export async function tightenHome(home: string, notice: Notice): Promise<void> {
  if (process.platform === "win32") return;
  await tighten(home, 0o700, notice);
  const database = await realDatabase(home);
  for (const path of new Set([databaseIn(home), database]))
    for (const suffix of BESIDE) await tighten(`${path}${suffix}`, 0o600, notice);
  for (const name of FOLDERS) await tighten(join(home, name), 0o700, notice);
  for (const name of (await readdir(home)).filter((one) => FILES.test(one)))
    await tighten(join(home, name), 0o600, notice);
}

/** Makes the file of a database that is not there yet, for this user alone; what SQLite puts beside it has the same mode. */
export async function privateDatabase(path: string): Promise<string> {
  await (await open(path, "a", 0o600)).close();
  return path;
}

async function tighten(path: string, mode: 0o700 | 0o600, notice: Notice): Promise<void> {
  try {
    const found = await stat(path);
    if ((found.mode & OTHERS) === 0) return;
    // Only what is of the kind that Reins makes is changed; a link inside of the home leads to where it was put.
    const link = mode === 0o700 && (await lstat(path)).isSymbolicLink();
    if (link || found.isDirectory() !== (mode === 0o700)) return;
    if ((found.mode & STICKY) !== 0) throw refused(path, "is a folder that users share");
    if (process.getuid && process.getuid() !== 0 && found.uid !== process.getuid())
      throw refused(path, "belongs to another user, and others may look into it");
    await chmod(path, mode);
    notice(`other users could look into ${path}; now only this user can (mode ${mode.toString(8)})`);
  } catch (error) {
    if (!isNotThere(error)) throw error;
  }
}

function refused(path: string, why: string): CliError {
  return new CliError(`${path} ${why}; what Reins keeps there is private.`, {
    next: "Choose another home with --home <folder> or REINS_HOME, or make it this user's alone: chmod 700",
    exitCode: EXIT.failed,
  });
}
