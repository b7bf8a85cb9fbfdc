import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, ifExists, readJsonFile, replaceFile } from "@reins/kit";
import { z } from "zod";

const CURRENT = "current";
// Neither a version nor anything else that is used begins with a dot.
const UNFINISHED = ".";
const REPLACED = /^\.replaced-[0-9a-f-]{36}-(.+)$/;

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
  current(): Promise<string | undefined> {
    return ifExists(readFile(join(this.#folder, CURRENT), "utf8"));
  }

  /** Every version that is there. */
  async all(): Promise<readonly string[]> {
    const found = (await ifExists(readdir(this.#folder, { withFileTypes: true }))) ?? [];
    const folders = found.filter((one) => one.isDirectory() && !one.name.startsWith(UNFINISHED));
    return folders.map(({ name }) => name).sort();
  }

  /** Puts a version to use. */
  async use(version: string): Promise<void> {
    if ((await this.current()) === version) return;
    await replaceFile(join(this.#folder, CURRENT), version);
  }

  /** An empty folder to work in. What earlier installs left unfinished is cleared away. */
  async begin(): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    for (const name of await readdir(this.#folder)) {
      if (!name.startsWith(UNFINISHED)) continue;
      const version = REPLACED.exec(name)?.[1];
      // An install that ended between its two renames left this version without its folder.
      if (version !== undefined && !(await ifExists(stat(this.of(version)))))
        await rename(join(this.#folder, name), this.of(version));
      else await rm(join(this.#folder, name), { recursive: true, force: true });
    }
    const partial = join(this.#folder, `${UNFINISHED}partial-${randomUUID()}`);
    await mkdir(partial);
    return partial;
  }

  /** Gives a finished folder its name and puts it to use. One of that name makes room, or stays where that fails. */
  async finish(partial: string, version: string): Promise<string> {
    const folder = this.of(version);
    const aside = join(this.#folder, `${UNFINISHED}replaced-${randomUUID()}-${version}`);
    await ifExists(rename(folder, aside));
    try {
      await rename(partial, folder);
    } catch (error) {
      await ifExists(rename(aside, folder));
      throw error;
    }
    await this.use(version);
    await rm(aside, { recursive: true, force: true });
    return folder;
  }

  /** Removes everything; returns whether there was anything. */
  async remove(): Promise<boolean> {
    const there = (await this.current()) !== undefined;
    await rm(this.#folder, { recursive: true, force: true });
    return there;
  }
}

const NAME = "install.json";

const Package = z.object({ name: z.string(), version: z.string(), integrity: z.string().optional() });

/** Where an install came from. Written last, into a folder that gets its name only then. */
export const Provenance = z.object({
  agent: z.string(),
  /** The version of the package that speaks ACP. */
  version: z.string(),
  /** The package that speaks ACP. */
  agentProcess: Package,
  /** The agent itself, where that is another package. */
  native: Package.optional(),
  /**
   * `lockfile`: exactly what the catalogue holds; `override`: what was found for versions that were asked for; `registry`:
   * what was found for the version that the registry named.
   */
  source: z.enum(["lockfile", "override", "registry"]),
  /** The registry's entry that it was installed by; absent where the registry has none, or another package. */
  registry: z.object({ url: z.string(), id: z.string(), version: z.string() }).optional(),
  /** The archive it came in, where it is no package, and whether its checksum was known before. */
  artifact: z
    .object({ url: z.string(), sha256: z.string(), bytes: z.int(), checked: z.boolean() })
    .optional(),
  /** The entry of an agent that the catalogue does not describe, as it was when it was installed. */
  entry: z.unknown().optional(),
  /** The SHA-256 of what its content was checked by: package.json and package-lock.json, the hashes of pip, the archive. */
  lock: z.string(),
  packages: z.array(Package),
  platform: z.string(),
  node: z.string(),
  /** What the agent said when it was asked for its version. */
  verified: z.string(),
  installedAt: z.string(),
});
export type Provenance = z.infer<typeof Provenance>;

/** What a folder says of where it came from; undefined when it says nothing, or nothing sensible. */
export function readProvenance(folder: string): Promise<Provenance | undefined> {
  return readJsonFile(join(folder, NAME), Provenance);
}

/** The same, without waiting. */
export function provenanceIn(folder: string): Provenance | undefined {
  try {
    return Provenance.safeParse(JSON.parse(readNow(join(folder, NAME)) ?? "null")).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The version in use in the folder of an agent, without waiting; undefined when there is none. */
export function currentVersion(folder: string): string | undefined {
  return readNow(join(folder, CURRENT));
}

function readNow(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** Notes in a folder where it came from. */
export async function writeProvenance(folder: string, provenance: Provenance): Promise<void> {
  await writeFile(join(folder, NAME), `${JSON.stringify(provenance, undefined, 2)}\n`);
}
