import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { acquireLock } from "./lock.mjs";
import { isPageBuilt, PAGE } from "./page-state.mjs";
import { showProgress } from "./progress.mjs";
import { run } from "./run.mjs";

/**
 * Builds the page beside the one that is served, and then puts it in its place.
 * @param {string} root
 * @param {string} pinnedNode
 * @returns {Promise<string | undefined>} what went wrong, or undefined when all is well
 */
export async function buildPage(root, pinnedNode) {
  try {
    return await build(root, pinnedNode);
  } catch (error) {
    // For example in a repository of another user.
    return notBuilt(error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {string} root
 * @param {string} pinnedNode
 */
async function build(root, pinnedNode) {
  const release = await acquireLock(join(root, ".cache", "page.lock"), (holder) =>
    console.error(`Another command is building the page (process ${holder}); waiting for it.`),
  );
  try {
    return isPageBuilt(root) ? undefined : await buildLocked(root, pinnedNode);
  } finally {
    release();
  }
}

/**
 * @param {string} root
 * @param {string} pinnedNode
 */
async function buildLocked(root, pinnedNode) {
  const fresh = join(root, PAGE, "dist.new");
  const served = join(root, PAGE, "dist");
  const progress = showProgress("Building the page");
  const { code, output } = await run(pinnedNode, [
    join(root, "node_modules", "vite", "bin", "vite.js"),
    ...["build", join(root, PAGE), "--outDir", fresh, "--emptyOutDir", "--logLevel", "warn"],
  ]);
  if (code !== 0) {
    progress.end("Failed");
    return notBuilt(output);
  }
  rmSync(served, { recursive: true, force: true });
  renameSync(fresh, served);
  progress.end("Built");
  return undefined;
}

/** @param {string} why */
function notBuilt(why) {
  return `${why}\nThe page could not be built.`;
}
