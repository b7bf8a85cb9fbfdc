import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Where the bundles lie, each in a folder of its own, and beside them what is known of the newest. */
export const BUNDLES = join(".cache", "bundle");

/** What the newest bundle is called, and what went into it. */
export const BUNDLE_RECORD = join(BUNDLES, "bundle.json");

/** The file of a bundle that is run. */
export const BUNDLE_ENTRY = "main.mjs";

/**
 * What a bundle was made of: the installed packages, by the fingerprint of their install, and files of the repository,
 * each with its state when it was read.
 * @typedef {{ folder: string, fingerprint: string, sources: Record<string, string> }} BundleRecord
 */

/**
 * The folder of a bundle that is the same as the sources, or undefined when there is none.
 * @param {string} root
 * @param {string | undefined} fingerprint of what is installed
 * @returns {string | undefined}
 */
export function freshBundle(root, fingerprint) {
  const record = readBundleRecord(root);
  if (!record || record.fingerprint !== fingerprint) return undefined;
  const folder = join(root, BUNDLES, record.folder);
  if (stateOf(join(folder, BUNDLE_ENTRY)) === undefined) return undefined;
  for (const path in record.sources) if (stateOf(join(root, path)) !== record.sources[path]) return undefined;
  return folder;
}

/**
 * What was written of the newest bundle, or undefined when there is none that can be read.
 * @param {string} root
 * @returns {BundleRecord | undefined}
 */
export function readBundleRecord(root) {
  try {
    return JSON.parse(readFileSync(join(root, BUNDLE_RECORD), "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * The fingerprint of a file, without reading it: it differs after every change. Undefined for a missing file.
 * @param {string} path
 * @returns {string | undefined}
 */
export function stateOf(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.mtimeMs} ${found.size}`;
}
