import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What was installed, kept in node_modules. The fingerprint covers the lockfile and npm's own record of what it put
 * there, so that an install or a prune done by hand is noticed too.
 * @typedef {{ fingerprint: string, development: boolean, platform: string, arch: string }} Stamp
 */

/** The fingerprint of no install: packages are being changed in place, or were when that was cut short. */
const UNFINISHED = "unfinished";

/**
 * Whether an install as `stamp` says serves a command: made from this lockfile, for this machine, and with the
 * development packages if the command needs them.
 * @param {Stamp | undefined} stamp
 * @param {Stamp} wanted
 */
export function satisfies(stamp, wanted) {
  return (
    stamp !== undefined &&
    stamp.fingerprint === wanted.fingerprint &&
    stamp.platform === wanted.platform &&
    stamp.arch === wanted.arch &&
    (stamp.development || !wanted.development)
  );
}

/**
 * Whether node_modules under `root` is ready for a command.
 * @param {string} root
 * @param {boolean} development
 */
export function isInstalled(root, development) {
  return satisfies(readStamp(root), currentStamp(root, development));
}

/**
 * Records a finished install.
 * @param {string} root
 * @param {boolean} development
 */
export function writeStamp(root, development) {
  writeFileSync(stampPath(root), `${JSON.stringify(currentStamp(root, development))}\n`);
}

/**
 * Notes that packages are about to be changed in place: a process that is interrupted may leave halves of them,
 * which look whole to npm. Gives back the function that takes the note away, once npm has come to its own end.
 * @param {string} root
 * @param {boolean} development
 * @returns {() => void}
 */
export function beginUpdate(root, development) {
  const path = stampPath(root);
  const before = readIfPresent(path);
  writeFileSync(path, `${JSON.stringify({ ...currentStamp(root, development), fingerprint: UNFINISHED })}\n`);
  return () => (before === "" ? rmSync(path, { force: true }) : writeFileSync(path, before));
}

/**
 * Whether packages were being changed in place when that was cut short.
 * @param {string} root
 */
export function isUpdateUnfinished(root) {
  return readStamp(root)?.fingerprint === UNFINISHED;
}

/**
 * The stamp of the last install, or undefined when there is none that can be read.
 * @param {string} root
 * @returns {Stamp | undefined}
 */
export function readStamp(root) {
  try {
    return JSON.parse(readFileSync(stampPath(root), "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * @param {string} root
 * @param {boolean} development
 * @returns {Stamp}
 */
function currentStamp(root, development) {
  const hash = createHash("sha256");
  hash.update(readIfPresent(join(root, "package-lock.json")));
  hash.update(readIfPresent(join(root, "node_modules", ".package-lock.json")));
  return { fingerprint: hash.digest("hex"), development, platform: process.platform, arch: process.arch };
}

/** @param {string} path */
function readIfPresent(path) {
  try {
    return readFileSync(path);
  } catch {
    return "";
  }
}

/** @param {string} root */
function stampPath(root) {
  return join(root, "node_modules", ".reins-install.json");
}
