import { randomBytes } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "@reins/kit";
import { ProcessError } from "../errors.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const THROUGH_DESCRIPTORS = existsSync("/proc/self/fd");
/** No credential or setting is larger. */
const MAX_FILE_BYTES = 4 << 20;

/**
 * A folder that is held open. Its content is reached through the descriptor, so that a folder that is swapped for a
 * link meanwhile is not followed. (Where the system has no `/proc`, by its path.)
 */
export class OpenFolder {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = path;
  }

  /** Opens a folder, which must not be a link. */
  static async open(path: string): Promise<OpenFolder> {
    return new OpenFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
  }

  /** Opens a folder in this one. Replaces anything else of that name. */
  async folder(name: string): Promise<OpenFolder> {
    const at = this.#at(name);
    const openInner = async () =>
      new OpenFolder(await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), join(this.#path, name));
    try {
      return await openInner();
    } catch (error) {
      if (!hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) throw error;
      if (!hasCode(error, "ENOENT")) await unlink(at);
      await mkdir(at, { mode: 0o700 });
      return openInner();
    }
  }

  /** Restricts access to the user. */
  async makePrivate(): Promise<void> {
    await this.#handle.chmod(0o700);
  }

  /** Reads a file; undefined if there is none. Throws for anything but a plain file of the user. */
  async read(name: string): Promise<Buffer | undefined> {
    let file: FileHandle;
    try {
      // Without O_NONBLOCK, opening a pipe waits for its other end.
      file = await open(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      if (hasCode(error, "ENOENT")) return undefined;
      throw this.#unsafe(name, error);
    }
    try {
      const stats = await file.stat();
      const ours = stats.isFile() && stats.uid === process.getuid?.() && stats.size <= MAX_FILE_BYTES;
      if (!ours) throw this.#unsafe(name);
      const content = Buffer.alloc(stats.size);
      const { bytesRead } = await file.read(content, 0, stats.size, 0);
      return content.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /**
   * Replaces a file atomically and durably. `unless` is called last; if it returns true, nothing is replaced.
   */
  async replace(
    name: string,
    content: string | Buffer,
    mode: number,
    unless: () => Promise<boolean> = async () => false,
  ): Promise<boolean> {
    const temporary = this.#at(`.${name}.${randomBytes(6).toString("hex")}`);
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      try {
        await file.chmod(mode);
        await file.writeFile(content);
        await file.sync();
      } finally {
        await file.close();
      }
      if (!(await unless())) {
        await rename(temporary, this.#at(name));
        return true;
      }
    } catch (error) {
      await rm(temporary, { force: true });
      throw hasCode(error, "EISDIR", "ENOTEMPTY") ? this.#unsafe(name, error) : error;
    }
    await rm(temporary, { force: true });
    return false;
  }

  /** Removes a file or folder with its content. Of a link, only the link is removed. */
  async remove(name: string): Promise<void> {
    await rm(this.#at(name), { recursive: true, force: true });
  }

  /** Closes the descriptor. */
  async close(): Promise<void> {
    await this.#handle.close();
  }

  #at(name: string): string {
    return THROUGH_DESCRIPTORS ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.#path, name);
  }

  #unsafe(name: string, cause?: unknown): ProcessError {
    const path = join(this.#path, name);
    return new ProcessError(
      "unsafe_file",
      `${path} has to be a plain file of yours, of at most ${MAX_FILE_BYTES >> 20} MiB, and not a link.`,
      { cause },
    );
  }
}
