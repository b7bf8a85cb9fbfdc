import { readdirSync, rmSync } from "node:fs";
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
 * A checkout with all its tools compiles some seven thousand files, of 8 KB on average. Node takes away none of those
 * that no longer belong to anything: of checkouts and temporary folders that are gone, of an earlier Node.
 */
const MOST_FILES = 15_000;

/**
 * Empties the folder of compiled code once it holds too much; running processes compile again.
 * @param {string} folder
 * @param {number} most
 */
export function boundCompileCache(folder, most = MOST_FILES) {
  try {
    // One folder for each Node and its settings, and the files in them.
    const files = readdirSync(folder).reduce((sum, name) => sum + readdirSync(join(folder, name)).length, 0);
    if (files > most) rmSync(folder, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // It is not there yet, is not a cache, or another command empties it too: nothing that runs depends on it.
  }
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
