import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "./alive.mjs";

const HEARTBEAT_MS = 1_000;
const POLL_MS = 200;
// A process id can be taken by an unrelated process after a crash; a heartbeat that stopped settles it.
const STALE_AFTER_MS = 10_000;

/**
 * Waits until no other process holds the lock, takes it, and gives back the function that lets it go.
 * @param {string} path
 * @param {(holder: string) => void} onWait called once, if there is a wait
 * @param {number} beatMs how often a holder shows that it lives
 * @returns {Promise<() => void>}
 */
export async function acquireLock(path, onWait, beatMs = HEARTBEAT_MS) {
  mkdirSync(dirname(path), { recursive: true });
  for (let waited = false; !tryCreate(path); ) {
    const holder = readHolder(path);
    if (holder === undefined) continue;
    if (isStale(path, holder)) {
      // Who lives may have slept with the machine, and beats again when given the time.
      if (isAlive(Number(holder))) await sleep(2 * beatMs);
      if (isStale(path, holder)) removeStale(path, holder);
      continue;
    }
    if (!waited) onWait(holder);
    waited = true;
    await sleep(POLL_MS);
  }
  const heartbeat = setInterval(() => touch(path), beatMs);
  return () => {
    clearInterval(heartbeat);
    if (readHolder(path) === String(process.pid)) rmSync(path, { force: true });
  };
}

/** @param {string} path */
function tryCreate(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {string | undefined} undefined when the lock was let go in the meantime
 */
function readHolder(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * @param {string} path
 * @param {string} holder
 */
function isStale(path, holder) {
  const beat = statSync(path, { throwIfNoEntry: false });
  if (!beat) return false;
  if (Date.now() - beat.mtimeMs > STALE_AFTER_MS) return true;
  // Empty for the moment between its creation and its first byte.
  return holder !== "" && !isAlive(Number(holder));
}

/**
 * Two waiters may find the same stale lock; the slower one must not delete the faster one's new lock. So the file is
 * moved aside first, and moved back if it turns out to belong to another process.
 * @param {string} path
 * @param {string} holder
 */
function removeStale(path, holder) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    throw error;
  }
  if (readHolder(aside) === holder) rmSync(aside, { force: true });
  else renameSync(aside, path);
}

/** @param {string} path */
function touch(path) {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** @param {unknown} error */
function errorCode(error) {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
