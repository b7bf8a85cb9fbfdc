import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where this user's `reins` remembers things between runs, apart from any home. */
export function stateFolder(platform: NodeJS.Platform, environment: NodeJS.ProcessEnv): string {
  const windows = platform === "win32";
  const named = windows ? environment.LOCALAPPDATA : environment.XDG_STATE_HOME;
  const usual = windows ? join(homedir(), "AppData", "Local") : join(homedir(), ".local", "state");
  // A relative XDG path is to be ignored, says its specification.
  return join(named && isAbsolute(named) ? named : usual, "reins");
}
