import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

export function version(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  );
  return version;
}

/** Found by its path and not imported: the page only speaks the wire, and nothing here may depend on it. */
export function inspectorFolder(): string {
  return fileURLToPath(new URL("../../inspector/dist", import.meta.url));
}

/** A folder of the user alone, because its content is run as code. */
export function compileCacheFolder(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string {
  const windows = platform === "win32";
  const named = windows ? environment.LOCALAPPDATA : environment.XDG_CACHE_HOME;
  const usual = windows ? join(homedir(), "AppData", "Local") : join(homedir(), ".cache");
  // The XDG specification says to ignore relative paths.
  return join(named && isAbsolute(named) ? named : usual, "reins", "compile");
}

/** State that `reins` keeps between runs, apart from any home. */
export function stateFolder(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string {
  const windows = platform === "win32";
  const named = windows ? environment.LOCALAPPDATA : environment.XDG_STATE_HOME;
  const usual = windows ? join(homedir(), "AppData", "Local") : join(homedir(), ".local", "state");
  // The XDG specification says to ignore relative paths.
  return join(named && isAbsolute(named) ? named : usual, "reins");
}
