import { join } from "node:path";
import { buildBundle } from "../bootstrap/bundle.mjs";
import { BUNDLE_ENTRY, freshBundle } from "../bootstrap/bundle-state.mjs";
import { useBundle } from "../bootstrap/bundle-use.mjs";
import { readStamp } from "../bootstrap/stamp.mjs";
import { root } from "../root.ts";

/** Names the program to system tests. */
const VARIABLE = "REINS_TEST_PROGRAM";

/** The file from which system tests start `reins` on this Node. */
export const reinsProgram = process.env[VARIABLE] ?? join(root, "packages/cli/src/main.ts");

/**
 * Bundles the program before the first system test. Hundreds of tests start `reins`, and from the bundle, which is also
 * what users run, it starts in half the time.
 */
export async function setup(): Promise<void> {
  const fingerprint = readStamp(root)?.fingerprint ?? "";
  const problem = freshBundle(root, fingerprint)
    ? undefined
    : await buildBundle(root, process.execPath, fingerprint);
  const bundle = freshBundle(root, fingerprint);
  if (bundle === undefined) throw new Error(problem ?? "The program was changed while it was bundled.");
  useBundle(bundle);
  process.env[VARIABLE] = join(bundle, BUNDLE_ENTRY);
}
