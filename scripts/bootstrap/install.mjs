import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { acquireLock } from "./lock.mjs";
import { installArguments, runNpm, scriptArguments } from "./npm.mjs";
import { showProgress } from "./progress.mjs";
import { beginUpdate, isInstalled, isUpdateUnfinished, readStamp, writeStamp } from "./stamp.mjs";

/**
 * Installs from the lockfile what a command needs.
 * @param {string} root
 * @param {string} pinnedNode
 * @param {boolean} needsDevelopmentPackages
 * @returns {Promise<string | undefined>} what went wrong and what to do about it, or undefined when all is well
 */
export async function install(root, pinnedNode, needsDevelopmentPackages) {
  try {
    return await installAlone(root, pinnedNode, needsDevelopmentPackages);
  } catch (error) {
    // For example in a repository of another user.
    const why = error instanceof Error ? error.message : String(error);
    return `${why}\n\nThe packages could not be installed. ${nextStep(why)}`;
  }
}

/**
 * @param {string} root
 * @param {string} pinnedNode
 * @param {boolean} needsDevelopmentPackages
 */
async function installAlone(root, pinnedNode, needsDevelopmentPackages) {
  const release = await acquireLock(join(root, ".cache", "install.lock"), (holder) =>
    console.error(`Another command is installing packages (process ${holder}); waiting for it.`),
  );
  try {
    if (isInstalled(root, needsDevelopmentPackages) && existsSync(pinnedNode)) return undefined;
    return await installLocked(root, pinnedNode, needsDevelopmentPackages);
  } finally {
    release();
  }
}

/**
 * @param {string} root
 * @param {string} pinnedNode
 * @param {boolean} needsDevelopmentPackages
 */
async function installLocked(root, pinnedNode, needsDevelopmentPackages) {
  const fresh = !existsSync(packageRecord(root)) || !existsSync(pinnedNode) || isUpdateUnfinished(root);
  const development = needsDevelopmentPackages || hasDevelopmentPackages(root);
  const progress = showProgress(
    `${fresh ? "Installing" : "Updating"} packages from package-lock.json` +
      `${development ? ", development tools included" : ""}`,
  );
  const endUpdate = fresh ? undefined : beginUpdate(root, development);
  const installed = await runNpm(root, installArguments({ fresh, development }));
  if (!installed.cutShort) endUpdate?.();
  const incomplete = incompletePackages(pinnedNode, development);
  const { succeeded, interruptedBy, output } =
    installed.succeeded && incomplete.length > 0
      ? await runNpm(root, scriptArguments(incomplete))
      : installed;
  if (interruptedBy) {
    progress.end("Stopped");
    return `The install was interrupted (${interruptedBy}). Run the same command again to finish it.`;
  }
  if (!succeeded) {
    progress.end("Failed");
    return `${output}\n\nnpm could not install the packages. ${nextStep(output)}`;
  }
  if (!existsSync(pinnedNode)) {
    progress.end("Incomplete");
    return (
      `${relative(root, pinnedNode)} is missing: npm did not run the install script of the "node" package.\n` +
      "Run `npm rebuild node --ignore-scripts=false`, then the same command again."
    );
  }
  writeStamp(root, development);
  progress.end("Installed");
  return undefined;
}

/**
 * The packages whose install scripts have to run: one brings Node, the other makes its program executable.
 * @param {string} pinnedNode
 * @param {boolean} development
 */
function incompletePackages(pinnedNode, development) {
  return [...(existsSync(pinnedNode) ? [] : ["node"]), ...(development ? ["agent-browser"] : [])];
}

/**
 * Development packages that are installed stay: a production start must not prune them.
 * @param {string} root
 */
function hasDevelopmentPackages(root) {
  const stamp = readStamp(root);
  if (stamp) return stamp.development;
  return existsSync(packageRecord(root)) && readFileSync(packageRecord(root), "utf8").includes('"dev": true');
}

/**
 * npm's own record of what it put there; it is written last.
 * @param {string} root
 */
function packageRecord(root) {
  return join(root, "node_modules", ".package-lock.json");
}

/**
 * What a person can do about npm's failure.
 * @param {string} output
 * @returns {string}
 */
export function nextStep(output) {
  if (/ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH/.test(output)) {
    return "The package registry cannot be reached: check the network or proxy, then run the same command again.";
  }
  if (/EACCES|EPERM|EROFS/.test(output)) {
    return "Files here belong to another user or are in use: correct that, then run the same command again.";
  }
  if (/ENOSPC/.test(output)) return "The disk is full: make room, then run the same command again.";
  if (/EUSAGE|in sync/.test(output)) {
    return "package-lock.json does not fit package.json: run `npm install`, and commit the lockfile it writes.";
  }
  return "Delete node_modules and run the same command again; if that fails too, npm's words above say why.";
}
