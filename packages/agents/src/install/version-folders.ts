import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const CURRENT = "current";
// Neither a version nor anything else that is used begins with a dot.
const UNFINISHED = ".";

/** The folder of one agent: one folder for each version, and a file that says which is in use. */
export class VersionFolders {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Where a version is, or would be. */
  of(version: string): string {
    return join(this.#folder, version);
  }

  /** The version that is in use; undefined when there is none. */
  async current(): Promise<string | undefined> {
    try {
      return await readFile(join(this.#folder, CURRENT), "utf8");
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Every version that is there. */
  async all(): Promise<readonly string[]> {
    try {
      const found = await readdir(this.#folder, { withFileTypes: true });
      const folders = found.filter((one) => one.isDirectory() && !one.name.startsWith(UNFINISHED));
      return folders.map(({ name }) => name).sort();
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** Puts a version to use. */
  async use(version: string): Promise<void> {
    if ((await this.current()) === version) return;
    const written = join(this.#folder, `${UNFINISHED}${CURRENT}-${randomUUID()}`);
    await writeFile(written, version);
    await rename(written, join(this.#folder, CURRENT));
  }

  /** An empty folder to work in. What earlier installs left unfinished is cleared away. */
  async begin(): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    for (const name of await readdir(this.#folder)) {
      if (name.startsWith(UNFINISHED)) await rm(join(this.#folder, name), { recursive: true, force: true });
    }
    const partial = join(this.#folder, `${UNFINISHED}partial-${randomUUID()}`);
    await mkdir(partial);
    return partial;
  }

  /** Gives a finished folder its name and puts it to use. One of that name makes room first. */
  async finish(partial: string, version: string): Promise<string> {
    const folder = this.of(version);
    const aside = join(this.#folder, `${UNFINISHED}replaced-${randomUUID()}`);
    await rename(folder, aside).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    await rename(partial, folder);
    await this.use(version);
    await rm(aside, { recursive: true, force: true });
    return folder;
  }

  /** Removes everything; tells whether there was anything. */
  async remove(): Promise<boolean> {
    const there = (await this.current()) !== undefined;
    await rm(this.#folder, { recursive: true, force: true });
    return there;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
