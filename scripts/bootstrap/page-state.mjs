import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** The folder of the page, and what goes into it from elsewhere. */
export const PAGE = join("packages", "inspector");
const SOURCES = [
  join(PAGE, "src"),
  join(PAGE, "public"),
  join(PAGE, "build"),
  join(PAGE, "index.html"),
  join(PAGE, "vite.config.ts"),
  join("packages", "api", "src"),
  join("packages", "verify", "src"),
  "package-lock.json",
];

/**
 * Whether the built page is there and nothing that goes into it was changed since.
 * @param {string} root
 */
export function isPageBuilt(root) {
  const built = statSync(join(root, PAGE, "dist", "index.html"), { throwIfNoEntry: false });
  return built !== undefined && SOURCES.every((source) => newest(join(root, source)) <= built.mtimeMs);
}

/**
 * When the newest of the files at a path was changed; 0 when there are none.
 * @param {string} path
 * @returns {number}
 */
function newest(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  // The folder itself counts: it changes when a file in it is taken away.
  return readdirSync(path).reduce((last, name) => Math.max(last, newest(join(path, name))), found.mtimeMs);
}
