import { chmod, lstat, mkdir, open, readdir, readlink, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { errorMessage } from "@reins/kit";
import { CliError, EXIT, isNotFound, systemCode } from "./errors.ts";
import type { Notice } from "./output.ts";

const NO_LINK: ReadonlySet<string> = new Set(["EINVAL", "ENOENT"]);

/** The flag, then `REINS_HOME`, then `reins` in the user's data folder. */
export function homeFolder(flag: string | undefined, environment: NodeJS.ProcessEnv): string {
  const named = flag ?? (environment.REINS_HOME || undefined);
  return named === undefined ? join(dataFolder(environment), "reins") : resolve(named);
}

export function socketIn(home: string): string {
  return join(home, "ahp.sock");
}

/** The socket of the API for the local operator. */
export function operatorSocketIn(home: string): string {
  return join(home, "reins.sock");
}

/** The file with the operator's token. */
export function startTokenIn(home: string): string {
  return join(home, "start-token");
}

export function databaseIn(home: string): string {
  return join(home, "reins.db");
}

/** Follows the link of a home whose database is elsewhere. */
export async function realDatabase(home: string): Promise<string> {
  const path = databaseIn(home);
  try {
    return resolve(home, await readlink(path));
  } catch (error) {
    if (NO_LINK.has(systemCode(error) ?? "")) return path;
    throw error;
  }
}

export function keysIn(home: string): string {
  return join(home, "keys");
}

/** The file with the place of an export. */
export function auditCursorIn(home: string, name: string): string {
  return join(home, "audit", `${name}.json`);
}

export function artifactsIn(home: string): string {
  return join(home, "artifacts");
}

/** Creates the folder for this user alone and makes an existing one private, with a notice. */
export async function openHome(home: string, notice: Notice): Promise<void> {
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await tightenHome(home, notice);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`Cannot use the folder ${home}: ${errorMessage(error)}`, {
      next: "Choose another with --home <folder> or REINS_HOME.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

/** The XDG specification says to ignore relative paths. */
function dataFolder({ XDG_DATA_HOME, LOCALAPPDATA }: NodeJS.ProcessEnv): string {
  if (XDG_DATA_HOME && isAbsolute(XDG_DATA_HOME)) return XDG_DATA_HOME;
  if (process.platform === "win32") return LOCALAPPDATA ?? join(homedir(), "AppData", "Local");
  return join(homedir(), ".local", "share");
}

const OTHERS = 0o077;
const STICKY = 0o1000;
const BESIDE = ["", "-wal", "-shm", "-journal"] as const;
const FOLDERS = ["keys", "artifacts", "homes", "mandates"] as const;
const FILES = /^reins\.db|\.(?:journal|jsonl|sqlite|token)$|^(?:start-token|board\.md)$/;

/**
 * Makes everything private in a home inaccessible to other users, with a notice for each path. Rejects a home that
 * belongs to another user or is shared.
 */
export async function tightenHome(home: string, notice: Notice): Promise<void> {
  if (process.platform === "win32") return;
  await tighten(home, 0o700, notice);
  const database = await realDatabase(home);
  for (const path of new Set([databaseIn(home), database]))
    for (const suffix of BESIDE) await tighten(`${path}${suffix}`, 0o600, notice);
  for (const name of FOLDERS) await tighten(join(home, name), 0o700, notice);
  const names = await readdir(home).catch((error: unknown) => {
    if (isNotFound(error)) return [];
    throw error;
  });
  for (const name of names.filter((one) => FILES.test(one))) await tighten(join(home, name), 0o600, notice);
}

/** Creates a missing database for this user alone; SQLite creates its other files with the same mode. */
export async function privateDatabase(path: string): Promise<string> {
  await (await open(path, "a", 0o600)).close();
  return path;
}

async function tighten(path: string, mode: 0o700 | 0o600, notice: Notice): Promise<void> {
  try {
    const found = await stat(path);
    if ((found.mode & OTHERS) === 0) return;
    // Changes only what Reins creates; a link inside of the home leads elsewhere on purpose.
    const link = mode === 0o700 && (await lstat(path)).isSymbolicLink();
    if (link || found.isDirectory() !== (mode === 0o700)) return;
    if ((found.mode & STICKY) !== 0) throw refused(path, "is a shared folder");
    if (process.getuid && process.getuid() !== 0 && found.uid !== process.getuid())
      throw refused(path, "belongs to another user, and others may read it");
    await chmod(path, mode);
    notice(`other users could read ${path}; now only this user can (mode ${mode.toString(8)})`);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function refused(path: string, why: string): CliError {
  return new CliError(`${path} ${why}; what Reins stores there is private.`, {
    next: "Choose another home with --home <folder> or REINS_HOME, or make it private: chmod 700",
    exitCode: EXIT.failed,
  });
}
