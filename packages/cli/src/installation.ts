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
  return join(userFolder(platform, environment, "XDG_CACHE_HOME", ".cache"), "compile");
}

/** State that `reins` keeps between runs, apart from any home. */
export function stateFolder(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string {
  return userFolder(platform, environment, "XDG_STATE_HOME", join(".local", "state"));
}

/** The XDG specification says to ignore relative paths. */
function userFolder(
  platform: NodeJS.Platform,
  environment: NodeJS.ProcessEnv,
  variable: string,
  usual: string,
): string {
  const windows = platform === "win32";
  const named = windows ? environment.LOCALAPPDATA : environment[variable];
  const folder = windows ? join("AppData", "Local") : usual;
  return join(named && isAbsolute(named) ? named : join(homedir(), folder), "reins");
}
