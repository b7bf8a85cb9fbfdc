import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where compiled code is kept between runs: a folder of the user's own, because whoever can write there runs code here. */
export function compileCacheFolder(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string {
  const windows = platform === "win32";
  const named = windows ? environment.LOCALAPPDATA : environment.XDG_CACHE_HOME;
  const usual = windows ? join(homedir(), "AppData", "Local") : join(homedir(), ".cache");
  // A relative XDG path is to be ignored, says its specification.
  return join(named && isAbsolute(named) ? named : usual, "reins", "compile");
}
