import { readdir } from "node:fs/promises";
import { FileError, Roots, systemCode } from "../../../files/roots.ts";
import { beginningOf, textIn, withFile } from "../../../files/workspace-files.ts";

/** A project's folder, to look at. What may not be looked at is not there. */
export interface Workspace {
  /** The names in a folder, those of folders with a slash at the end. */
  list(path: string): Promise<readonly string[]>;
  /** The beginning of a text file. */
  read(path: string, maxBytes: number): Promise<string | undefined>;
}

/** Whether a path, relative to the workspace, may be read. */
export type MayRead = (path: string) => boolean | Promise<boolean>;

const MAX_NAMES = 1_000;

/** A folder of this machine, never looked at beyond its border. */
export class FolderWorkspace implements Workspace {
  readonly #roots: Roots;
  readonly #mayRead: MayRead;

  constructor(root: string, mayRead: MayRead = () => true) {
    this.#roots = new Roots(root);
    this.#mayRead = mayRead;
  }

  async list(path: string): Promise<readonly string[]> {
    if (!(await this.#mayRead(path))) return [];
    return orMissing([], async () => {
      const entries = await readdir(await this.#roots.resolve(path), { withFileTypes: true });
      return entries
        .slice(0, MAX_NAMES)
        .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
        .toSorted();
    });
  }

  async read(path: string, maxBytes: number): Promise<string | undefined> {
    return orMissing(undefined, () =>
      withFile(this.#roots, path, async (file) => {
        // Most of what is looked for is not there, and needs nobody's leave.
        if (!(await this.#mayRead(path))) return undefined;
        return textIn(await beginningOf(file, maxBytes), true);
      }),
    );
  }
}

const ABSENT: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "EACCES", "EPERM"]);

async function orMissing<Value>(missing: Value, look: () => Promise<Value>): Promise<Value> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof FileError || ABSENT.has(systemCode(error))) return missing;
    throw error;
  }
}
