import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, opendir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, type FileStamps } from "@reins/kit";

/** Bounds of one skill's folder. */
const BUNDLE_LIMITS = { files: 512, depth: 8, bytes: 16 * 1024 * 1024 };
/** The signature lies in the bundle and is the only file that it does not cover. */
export const SIGNATURE_FILE = "SKILL.sig.json";

/** The files of a skill with their hashes, by which it is signed and trusted. */
interface BundleManifest {
  /** In the order of their paths, relative to the folder, with `/` between names. */
  readonly files: readonly { readonly path: string; readonly sha256: string; readonly executable: boolean }[];
}

export interface Bundle {
  readonly folder: string;
  readonly manifest: BundleManifest;
  /** The SHA-256 of the manifest. */
  readonly digest: string;
  /** Why the manifest does not cover everything that the folder holds; empty when it does. */
  readonly faults: readonly string[];
}

/** What may still be read of several bundles; shrinks as they are read. */
export interface BundleBudget {
  files: number;
  bytes: number;
}

/** Reads what a skill's folder holds, and no more than a budget leaves. Nothing is followed out of it. */
export async function readBundle(
  folder: string,
  budget: BundleBudget = { ...BUNDLE_LIMITS },
  stamps?: FileStamps,
): Promise<Bundle> {
  const walk = new Walk(folder, budget, stamps);
  await walk.enter("", 0);
  const files = walk.files.toSorted((left, right) => (left.path < right.path ? -1 : 1));
  return { folder, manifest: { files }, digest: digestOf({ files }), faults: walk.faults };
}

/** The hash that names a bundle's content. */
function digestOf({ files }: BundleManifest): string {
  const lines = files.map(({ path, sha256, executable }) => JSON.stringify([path, sha256, executable]));
  return createHash("sha256")
    .update(`reins-skill-bundle/v1\n${lines.join("\n")}`)
    .digest("hex");
}

class Walk {
  readonly files: BundleManifest["files"][number][] = [];
  readonly faults: string[] = [];
  readonly #folder: string;
  readonly #budget: BundleBudget;
  readonly #stamps: FileStamps | undefined;
  #bytes = 0;
  #seen = 0;

  constructor(folder: string, budget: BundleBudget, stamps: FileStamps | undefined) {
    this.#folder = folder;
    this.#budget = budget;
    this.#stamps = stamps;
  }

  async enter(relative: string, depth: number): Promise<void> {
    if (depth > BUNDLE_LIMITS.depth) return this.#fault(`${relative} lies too deep`);
    await this.#stamps?.note(join(this.#folder, relative));
    for await (const entry of await opendir(join(this.#folder, relative))) {
      if (this.#seen >= BUNDLE_LIMITS.files)
        return this.#fault(`it holds more than ${BUNDLE_LIMITS.files} files`);
      if (this.#budget.files <= 0) return this.#fault("the skills beside it hold too many files");
      this.#seen += 1;
      this.#budget.files -= 1;
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (!entry.isDirectory()) await this.#stamps?.note(join(this.#folder, path));
      if (path === SIGNATURE_FILE) continue;
      if (entry.isDirectory()) await this.enter(path, depth + 1);
      else if (entry.isFile()) await this.#add(path);
      else this.#fault(`${path} is a link or no ordinary file`);
    }
  }

  async #add(path: string): Promise<void> {
    try {
      const { sha256, size, executable } = await hashFile(
        join(this.#folder, path),
        Math.min(BUNDLE_LIMITS.bytes - this.#bytes, this.#budget.bytes),
      );
      this.#bytes += size;
      this.#budget.bytes -= size;
      this.files.push({ path, sha256, executable });
    } catch (error) {
      if (error instanceof FileTooLarge) this.#fault(`it, or the skills beside it, hold too many bytes`);
      else this.#fault(`${path} cannot be read (${errorCode(error) ?? "error"})`);
    }
  }

  #fault(fault: string): void {
    if (!this.faults.includes(fault) && this.faults.length < 10) this.faults.push(fault);
  }
}

class FileTooLarge extends Error {}

async function hashFile(
  path: string,
  most: number,
): Promise<{ readonly sha256: string; readonly size: number; readonly executable: boolean }> {
  return withFile(path, async (file, { size, mode }) => {
    if (size > most) throw new FileTooLarge();
    const content = await readAtMost(file, most);
    const sha256 = createHash("sha256").update(content).digest("hex");
    return { sha256, size: content.length, executable: (mode & 0o111) !== 0 };
  });
}

/** Reads a regular file that is no link, up to a number of bytes; throws when there is more. */
export async function readPlainFile(path: string, most: number): Promise<Uint8Array> {
  return withFile(path, async (file, { size }) => {
    if (size > most) throw new FileTooLarge(`it is larger than ${most} bytes`);
    return readAtMost(file, most);
  });
}

async function withFile<Result>(
  path: string,
  use: (file: FileHandle, stats: Stats) => Promise<Result>,
): Promise<Result> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new Error("it is no ordinary file");
    return await use(file, stats);
  } finally {
    await file.close();
  }
}

async function readAtMost(file: FileHandle, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(new Uint8Array(64 * 1024), 0, 64 * 1024);
    if (bytesRead === 0) return Buffer.concat(chunks);
    length += bytesRead;
    if (length > most) throw new FileTooLarge(`it is larger than ${most} bytes`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}
