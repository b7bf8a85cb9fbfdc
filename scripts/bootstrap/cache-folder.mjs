import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * Where compiled code is kept between runs: a per-user cache folder, outside the repository.
 * @param {string} platform
 * @param {Record<string, string | undefined>} environment
 * @returns {string}
 */
export function compileCacheFolder(platform, environment) {
  return join(userCacheFolder(platform, environment), "reins", "compile");
}

/**
 * @param {string} platform
 * @param {Record<string, string | undefined>} environment
 */
function userCacheFolder(platform, environment) {
  // A relative XDG path is to be ignored, says its specification.
  const named = platform === "win32" ? environment.LOCALAPPDATA : environment.XDG_CACHE_HOME;
  if (named && isAbsolute(named)) return named;
  return platform === "win32" ? join(homedir(), "AppData", "Local") : join(homedir(), ".cache");
}
