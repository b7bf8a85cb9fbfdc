import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is removed after the test. */
export async function scratchFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "reins-mail-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
