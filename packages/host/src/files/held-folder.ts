import { randomBytes } from "node:crypto";
import { constants, existsSync, type Stats } from "node:fs";
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
  rename,
  rmdir,
  statfs,
  symlink,
  unlink,
} from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { hasCode } from "@reins/kit";
import { showsKernel } from "../governor/text-file.ts";
import { FileFault } from "./file-fault.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** Linux: names a folder without the right to list it. */
const O_PATH = 0x20_00_00;
const THROUGH_DESCRIPTORS = existsSync("/proc/self/fd");
const WALK = (THROUGH_DESCRIPTORS ? O_PATH : O_RDONLY) | O_DIRECTORY | O_NOFOLLOW;

/** How many levels of a folder are gone through at once where it is removed: descriptors are open for each. */
const MOST_LEVELS = 32;

/** Ends the names of files that are being written, and of folders that an upload is unpacked in. */
const PARTIAL = ".reins-partial";

/**
 * A folder that is held open, reached from the top of the file system through one descriptor for each name, none of which
 * may be a link. What is done in it is done through the descriptor, so that whatever is put in the place of one of its
 * parents meanwhile is not followed. (Where the system has no `/proc`, by its path.)
 */
export class HeldFolder {
  readonly path: string;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.path = path;
  }

  /** Opens a folder by where it really lies; with `make`, folders that are missing are made. */
  static async open(real: string, { make = false } = {}): Promise<HeldFolder> {
    let folder = new HeldFolder(await open(sep, WALK), sep);
    try {
      for (const name of real.split(sep).filter(Boolean)) {
        const next = await folder.#inner(name, make);
        await folder.close();
        folder = next;
      }
      await folder.expectInPlace();
      if (await showsKernel(folder.#own()))
        throw new FileFault("forbidden", `${real} shows the state of the system or of processes`);
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** Opens the folder that an entry lies in. */
  static parent(real: string, options?: { readonly make?: boolean }): Promise<HeldFolder> {
    if (real === sep) throw new FileFault("invalid", "the top of the file system is no entry");
    return HeldFolder.open(dirname(real), options);
  }

  /** Throws if the folder was moved since it was opened. */
  async expectInPlace(): Promise<void> {
    if (THROUGH_DESCRIPTORS && (await readlink(this.#own())) !== this.path)
      throw new FileFault("conflict", `${this.path} was moved or removed meanwhile`);
  }

  /** What an entry is, itself where it is a link; undefined where there is none. */
  async look(name: string | Buffer): Promise<Stats | undefined> {
    try {
      return await lstat(this.#at(name));
    } catch (error) {
      if (hasCode(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  /** Opens a plain file to read it. */
  async read(name: string): Promise<{ readonly file: FileHandle; readonly stats: Stats }> {
    const path = join(this.path, name);
    const found = await lstat(this.#at(name));
    if (found.isDirectory()) throw new FileFault("conflict", `${path} is a folder`);
    if (!found.isFile()) throw new FileFault("conflict", `${path} is no plain file`);
    const file = await open(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const stats = await file.stat();
    if (stats.isFile()) return { file, stats };
    await file.close();
    throw new FileFault("conflict", `${path} is no plain file`);
  }

  /** What a link says that it leads to. */
  readLink(name: string): Promise<string> {
    return readlink(this.#at(name));
  }

  /** Makes a link, where nothing has the name. */
  makeLink(name: string, target: string): Promise<void> {
    return symlink(target, this.#at(name));
  }

  /** Makes a folder, where nothing has the name. */
  async makeFolder(name: string, mode: number): Promise<void> {
    await mkdir(this.#at(name));
    const folder = await open(this.#at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    await folder.chmod(mode).finally(() => folder.close());
  }

  /** The entries, in the order of the file system, as they are read. Bytes of a name that are no UTF-8 are replaced. */
  async *entries(): AsyncGenerator<{ readonly name: string; readonly stats: Stats }> {
    for await (const { name } of bareEntries(this.#own())) {
      const stats = await this.look(name);
      if (stats) yield { name: name.toString(), stats };
    }
  }

  /** Makes a file under a name of its own, which `place` or `discard` ends. */
  async create(): Promise<{ readonly name: string; readonly file: FileHandle }> {
    const name = newPartialName();
    return { name, file: await open(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666) };
  }

  /** Makes a folder under a name of its own and opens it. */
  async createFolder(): Promise<{ readonly name: string; readonly folder: HeldFolder }> {
    const name = newPartialName();
    await mkdir(this.#at(name), 0o700);
    return { name, folder: await this.#inner(name, false) };
  }

  /** Opens a folder in this one, by names of which none may be a link. */
  async folder(names: readonly string[], { make = false } = {}): Promise<HeldFolder> {
    let folder: HeldFolder = this;
    for (const name of names) {
      const next = await folder.#inner(name, make).finally(() => folder !== this && folder.close());
      folder = next;
    }
    return folder;
  }

  /** Puts an entry of a folder into this one under a name: replaces what is there, or fails. */
  async place(
    from: HeldFolder,
    entry: string,
    name: string,
    { replaces }: { replaces: boolean },
  ): Promise<void> {
    const [source, target] = [from.#at(entry), this.#at(name)];
    await this.expectInPlace();
    if (!replaces && (await lstat(source)).isFile()) {
      // A link fails where a name is taken, and rename does not.
      const linked = await link(source, target).then(
        () => true,
        (error: unknown) => {
          if (hasCode(error, "EPERM", "ENOSYS", "EOPNOTSUPP", "EMLINK")) return false;
          throw error;
        },
      );
      if (linked) return unlink(source);
    }
    if (!replaces && (await this.look(name)))
      throw new FileFault("conflict", `${join(this.path, name)} is there already`);
    await rename(source, target);
  }

  /** What its file system has, and what is free of that, in bytes. */
  async space(): Promise<{ readonly free: number; readonly total: number }> {
    const { bavail, blocks, bsize } = await statfs(this.#own());
    return { free: bavail * bsize, total: blocks * bsize };
  }

  /** Has what was done to the entries reach the disk. */
  async sync(): Promise<void> {
    const folder = await open(THROUGH_DESCRIPTORS ? this.#own() : this.path, O_RDONLY | O_DIRECTORY);
    await folder.sync().finally(() => folder.close());
  }

  /** Removes an entry; of a link, the link. A folder that is not empty only with its content. */
  async remove(name: string, { recursive = false } = {}): Promise<void> {
    const names = [name];
    for (let next = names.pop(); next !== undefined; next = names.pop())
      await this.#remove(next, recursive && { top: this, names, level: 0 });
  }

  /** Removes what `create` or `createFolder` made, if it is there still. */
  async discard(name: string): Promise<void> {
    await this.remove(name, { recursive: true }).catch(() => undefined);
  }

  /** Closes the descriptor. */
  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** Removes an entry. What lies very deep in it gets a name in the top folder, where it is removed afterwards. */
  async #remove(name: string | Buffer, recursion: false | Recursion): Promise<void> {
    const at = this.#at(name);
    if (!(await lstat(at)).isDirectory()) return unlink(at);
    if (recursion) {
      const { top, names, level } = recursion;
      if (level === MOST_LEVELS) {
        const aside = newPartialName();
        await rename(at, top.#at(aside));
        names.push(aside);
        return;
      }
      const inner = await this.#inner(name, false);
      try {
        for await (const entry of bareEntries(inner.#own()))
          await inner.#remove(entry.name, { top, names, level: level + 1 });
      } finally {
        await inner.close();
      }
    }
    await rmdir(at);
  }

  async #inner(name: string | Buffer, make: boolean): Promise<HeldFolder> {
    const path = join(this.path, String(name));
    const at = this.#at(name);
    try {
      return new HeldFolder(await open(at, WALK), path);
    } catch (error) {
      if (!make || !hasCode(error, "ENOENT")) throw error;
      await mkdir(at).catch((fault: unknown) => {
        if (!hasCode(fault, "EEXIST")) throw fault;
      });
      return new HeldFolder(await open(at, WALK), path);
    }
  }

  #own(): string {
    return THROUGH_DESCRIPTORS ? `/proc/self/fd/${this.#handle.fd}` : this.path;
  }

  #at(name: string | Buffer): string | Buffer {
    return typeof name === "string"
      ? join(this.#own(), basename(name))
      : Buffer.concat([Buffer.from(`${this.#own()}${sep}`), name]);
  }
}

/** Where a removal began, what is still to be removed there, and how deep it is by now. */
interface Recursion {
  readonly top: HeldFolder;
  readonly names: string[];
  readonly level: number;
}

function newPartialName(): string {
  return `.${randomBytes(9).toString("hex")}${PARTIAL}`;
}

/** The entries of a folder with their names as the file system has them: any bytes, of which not all are UTF-8. */
export async function* bareEntries(
  folder: string | Buffer,
): AsyncGenerator<{ readonly name: Buffer; readonly isFolder: boolean; readonly isFile: boolean }> {
  for await (const entry of await opendir(folder, { encoding: "latin1" }))
    yield { name: Buffer.from(entry.name, "latin1"), isFolder: entry.isDirectory(), isFile: entry.isFile() };
}
