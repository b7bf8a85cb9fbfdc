import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "./alive.mjs";

/**
 * Notes that this process runs from a bundle, parts of which it loads when it needs them. The note goes with the
 * process. Says whether it could be written: the repository may belong to another user.
 * @param {string} folder
 */
export function useBundle(folder) {
  const note = join(folder, "users", String(process.pid));
  try {
    mkdirSync(join(folder, "users"), { recursive: true });
    writeFileSync(note, "");
  } catch {
    return false;
  }
  process.once("exit", () => rmSync(note, { force: true }));
  return true;
}

/**
 * Whether a process runs from a bundle.
 * @param {string} folder
 */
export function isBundleUsed(folder) {
  try {
    return readdirSync(join(folder, "users")).some((pid) => isAlive(Number(pid)));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
