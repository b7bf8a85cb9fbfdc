import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "./alive.mjs";

/**
 * Notes that this process runs from a bundle, parts of which it loads when it needs them. The note goes with the
 * process.
 * @param {string} folder
 */
export function useBundle(folder) {
  const note = join(folder, "users", String(process.pid));
  mkdirSync(join(folder, "users"), { recursive: true });
  writeFileSync(note, "");
  process.once("exit", () => rmSync(note, { force: true }));
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
