import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A temporary workspace within a folder of its own. */
export interface TestWorkspace {
  /** The folder around the workspace. */
  readonly base: string;
  readonly cwd: string;
  /** The content of a file; `undefined` when it does not exist. */
  text(path: string): Promise<string | undefined>;
}

/** Creates a workspace with files. */
export async function testWorkspace(files: Readonly<Record<string, string>> = {}): Promise<TestWorkspace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "native-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const cwd = join(base, "work");
  await mkdir(cwd);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  }
  return { base, cwd, text: (path) => readFile(join(cwd, path), "utf8").catch(() => undefined) };
}
