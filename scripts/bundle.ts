// Makes one program of a few files out of what `npm start` runs: a start that loads thirty files takes half the time of
// one that loads fifteen hundred. Nothing but the bootstrap runs it, with the fingerprint of what is installed.
import { randomBytes } from "node:crypto";
import { glob, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BUNDLE_RECORD, BUNDLES, readBundleRecord } from "./bootstrap/bundle-state.mjs";
import { isBundleUsed } from "./bootstrap/bundle-use.mjs";
import { bundleProgram } from "./bundle/bundle-program.ts";
import { Sources } from "./bundle/sources.ts";
import { root } from "./root.ts";

/** What decides about the bundle without being in it. */
const DECIDING = ["tsconfig.json", "packages/*/package.json", "scripts/bundle.ts", "scripts/bundle/*.ts"];

const [fingerprint = ""] = process.argv.slice(2);
const name = randomBytes(6).toString("hex");
const folder = join(root, BUNDLES, name);
const sources = new Sources(root, folder);

const before = readBundleRecord(root)?.folder;
try {
  for await (const path of glob(DECIDING, { cwd: root })) sources.note(join(root, path));
  await bundleProgram({ root, folder, sources });
  await publish();
  await removeOthers([name, before]);
} catch (error) {
  await rm(folder, { recursive: true, force: true });
  throw error;
}

async function publish(): Promise<void> {
  const record = { folder: name, fingerprint, sources: sources.states };
  const fresh = join(folder, "bundle.json");
  await writeFile(fresh, JSON.stringify(record));
  await rename(fresh, join(root, BUNDLE_RECORD));
}

/** Who has just found the bundle before this one fresh may not have noted yet that it is used. */
async function removeOthers(kept: readonly (string | undefined)[]): Promise<void> {
  for (const one of await readdir(join(root, BUNDLES), { withFileTypes: true })) {
    const path = join(root, BUNDLES, one.name);
    if (!one.isDirectory() || kept.includes(one.name) || isBundleUsed(path)) continue;
    await rm(path, { recursive: true, force: true });
  }
}
