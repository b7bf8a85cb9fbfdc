import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The version of this package, as its package.json says. */
export function version(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  );
  return version;
}

/**
 * Where the built inspector lies: in the package beside this one. It is found by its place, not imported, because the
 * page speaks only the wire and nothing here may depend on it.
 */
export function inspectorFolder(): string {
  return fileURLToPath(new URL("../../inspector/dist", import.meta.url));
}

/** Where compiled code is kept between runs: a folder of the user's own, because whoever can write there runs code here. */
export function compileCacheFolder(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string {
  const windows = platform === "win32";
  const named = windows ? environment.LOCALAPPDATA : environment.XDG_CACHE_HOME;
  const usual = windows ? join(homedir(), "AppData", "Local") : join(homedir(), ".cache");
  // A relative XDG path is to be ignored, says its specification.
  return join(named && isAbsolute(named) ? named : usual, "reins", "compile");
}

/** Where this user's `reins` remembers things between runs, apart from any home. */
export function stateFolder(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string {
  const windows = platform === "win32";
  const named = windows ? environment.LOCALAPPDATA : environment.XDG_STATE_HOME;
  const usual = windows ? join(homedir(), "AppData", "Local") : join(homedir(), ".local", "state");
  // A relative XDG path is to be ignored, says its specification.
  return join(named && isAbsolute(named) ? named : usual, "reins");
}
