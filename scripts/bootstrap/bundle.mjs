import { join } from "node:path";
import { freshBundle } from "./bundle-state.mjs";
import { acquireLock } from "./lock.mjs";
import { showProgress } from "./progress.mjs";
import { run } from "./run.mjs";

/**
 * Makes a bundle of the program, unless another command has done so in the meantime.
 * @param {string} root
 * @param {string} pinnedNode
 * @param {string} fingerprint of what is installed
 * @returns {Promise<string | undefined>} what went wrong, or undefined when all is well
 */
export async function buildBundle(root, pinnedNode, fingerprint) {
  try {
    return await build(root, pinnedNode, fingerprint);
  } catch (error) {
    // For example in a repository of another user.
    return notBundled(error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {string} root
 * @param {string} pinnedNode
 * @param {string} fingerprint
 */
async function build(root, pinnedNode, fingerprint) {
  const release = await acquireLock(join(root, ".cache", "bundle.lock"), (holder) =>
    console.error(`Another command is bundling the program (process ${holder}); waiting for it.`),
  );
  try {
    if (freshBundle(root, fingerprint)) return undefined;
    const progress = showProgress("Bundling the program");
    const { code, output } = await run(pinnedNode, [join(root, "scripts", "bundle.ts"), fingerprint]);
    progress.end(code === 0 ? "Bundled" : "Failed");
    return code === 0 ? undefined : notBundled(output);
  } finally {
    release();
  }
}

/** @param {string} why */
function notBundled(why) {
  return `${why}\nThe program could not be bundled; it runs from its sources.`;
}
