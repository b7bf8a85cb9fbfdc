import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** How long a registry may take to answer. */
const PATIENCE_MS = 30_000;

/**
 * Whether a package registry answers, so that tests can install from it. `REINS_TEST_AGENTS` names a folder that holds
 * the agents already, for a machine without one.
 */
export const registryAnswers: boolean = process.env.REINS_TEST_AGENTS !== undefined || (await ask());

/** Ends the title of a suite that is skipped without a registry: `describe.skipIf(!registryAnswers)`. */
export const NEEDS_REGISTRY = registryAnswers ? "" : " (needs a package registry: none answers)";

async function ask(): Promise<boolean> {
  try {
    await promisify(execFile)("npm", ["view", "node", "version", "--prefer-online"], {
      timeout: PATIENCE_MS,
      shell: process.platform === "win32",
    });
    return true;
  } catch {
    // npm is missing, or whatever it asked did not answer: in both cases nothing can be installed.
    return false;
  }
}
