import { mkdir, readlink } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { CliError } from "./errors/cli-error.ts";
import { textOf } from "./errors/render.ts";
import { systemCode } from "./errors/system-code.ts";
import { EXIT } from "./exit-codes.ts";
import { tightenHome } from "./home-privacy.ts";
import type { Notice } from "./notice.ts";

/** Of something that is no link, or is not there. */
const NO_LINK: ReadonlySet<string> = new Set(["EINVAL", "ENOENT"]);

/** The folder in which Reins keeps everything: flag, then `REINS_HOME`, then `reins` in the user's data folder. */
export function homeFolder(flag: string | undefined, environment: NodeJS.ProcessEnv): string {
  const named = flag ?? (environment.REINS_HOME || undefined);
  return named === undefined ? join(dataFolder(environment), "reins") : resolve(named);
}

/** The socket on which the Reins of a home serves AHP. */
export function socketIn(home: string): string {
  return join(home, "ahp.sock");
}

/** The socket on which the Reins of a home answers its operator. */
export function operatorSocketIn(home: string): string {
  return join(home, "reins.sock");
}

/** The file with the token that stands for the operator of a home. */
export function startTokenIn(home: string): string {
  return join(home, "start-token");
}

/** The database of a home, in which its ledger is. */
export function databaseIn(home: string): string {
  return join(home, "reins.db");
}

/** Where the database of a home lies in truth: the home may link to it. */
export async function realDatabase(home: string): Promise<string> {
  const path = databaseIn(home);
  try {
    return resolve(home, await readlink(path));
  } catch (error) {
    if (NO_LINK.has(systemCode(error) ?? "")) return path;
    throw error;
  }
}

/** The keys that a home signs with. */
export function keysIn(home: string): string {
  return join(home, "keys");
}

/** The private content that entries of a home's ledger refer to. */
export function artifactsIn(home: string): string {
  return join(home, "artifacts");
}

/** Makes the folder, for this user only; what others could look into is taken from them, and that is said. */
export async function openHome(home: string, notice: Notice): Promise<void> {
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await tightenHome(home, notice);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`Cannot use the folder ${home}: ${textOf(error)}`, {
      next: "Choose another with --home <folder> or REINS_HOME.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

/** A relative XDG path is to be ignored, says its specification. */
function dataFolder({ XDG_DATA_HOME, LOCALAPPDATA }: NodeJS.ProcessEnv): string {
  if (XDG_DATA_HOME && isAbsolute(XDG_DATA_HOME)) return XDG_DATA_HOME;
  if (process.platform === "win32") return LOCALAPPDATA ?? join(homedir(), "AppData", "Local");
  return join(homedir(), ".local", "share");
}
