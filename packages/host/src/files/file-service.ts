import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { Readable } from "node:stream";
import { KeyedQueue } from "@reins/kit";
import type { WrittenFile } from "../control/outcome.ts";
import { reachesAll } from "../governor/session-folders.ts";
import type { CallerAccess, CallerAction, EndAccess, FileCaller } from "./caller-access.ts";
import { FileFault, onPath } from "./file-fault.ts";
import { HeldFolder } from "./held-folder.ts";
import type { SetAside } from "./set-aside.ts";
import { ENTRY_BYTES, type TakenRoom, type TenantRoom } from "./tenant-room.ts";
import {
  expectVersion,
  type Precondition,
  placeUnpacked,
  putFile,
  syncPlaced,
  tooLarge,
  type UploadLimits,
  unpack,
  versionOf,
} from "./unpack.ts";

const LIMITS: UploadLimits = { bytes: 16 * 2 ** 30, entries: 20_000 };

/** A file or folder. */
export interface FoundEntry {
  readonly name: string;
  readonly path: string;
  readonly entryType: "file" | "directory";
  readonly size: number;
  readonly modified: string;
}

/** A file that is open to be read. It is closed by `stream`, or by `close`. */
export interface ReadableFile extends Pick<FoundEntry, "path" | "size"> {
  readonly modified: Date;
  /** Changes with the content. */
  readonly version: string;
  /** Streams the bytes from one position to another, both included. */
  stream(start: number, end: number): Readable;
  close(): Promise<void>;
}

/** What the files of callers need. */
interface FileServiceParts {
  readonly access: CallerAccess;
  readonly room: TenantRoom;
  readonly setAside: SetAside;
  /** Receives why the end of a reading could not be recorded. */
  readonly onError: (error: unknown) => void;
}

/** How many files of an archive one verdict is about. */
const BATCH = 64;
const MOST_SHOWN = 1_024;
/** How many files an error names. */
const MOST_NAMED = 16;
const CHUNK = 256 * 1024;

/**
 * The files of callers of the API: people and services, each confined to the folders of its tenant. What a path leads to is
 * decided about, and then reached without following any link.
 */
export class FileService {
  readonly #access: CallerAccess;
  readonly #room: TenantRoom;
  readonly #setAside: SetAside;
  readonly #onError: FileServiceParts["onError"];
  readonly #limits: UploadLimits;
  /** Changes by version, one at a time for a file. */
  readonly #changes = new KeyedQueue();

  constructor({ access, room, setAside, onError }: FileServiceParts, limits: Partial<UploadLimits> = {}) {
    this.#access = access;
    this.#room = room;
    this.#setAside = setAside;
    this.#onError = onError;
    this.#limits = { ...LIMITS, ...limits };
  }

  /** Lists a folder, as it is read. */
  async *list(caller: FileCaller, given = "."): AsyncGenerator<FoundEntry> {
    const access = await this.#access.resolve(caller, "fs/list_entries", { path: given });
    const [{ path, real } = NOWHERE] = access.targets;
    const end = await this.#access.begin(access);
    let outcome: "completed" | "failed" = "failed";
    try {
      const folder = await onPath(path, () => HeldFolder.open(real));
      try {
        for await (const { name, stats } of folder.entries()) yield entryOf(name, join(path, name), stats);
        outcome = "completed";
      } finally {
        await folder.close();
      }
    } finally {
      await end(outcome);
    }
  }

  /** Describes a file or folder. */
  async stat(caller: FileCaller, given: string): Promise<FoundEntry> {
    const access = await this.#access.resolve(caller, "fs/stat", { path: given });
    const [{ path, real } = NOWHERE] = access.targets;
    return this.#access.perform(access, async () => {
      const found = await within(HeldFolder.parent(real), (folder) => folder.look(basename(real)));
      if (!found) throw new FileFault("not_found", `${path} is not there`);
      if (found.isSymbolicLink()) throw new FileFault("conflict", `${path} was replaced by a link`);
      return entryOf(basename(path), path, found);
    });
  }

  /** Opens a file to be read. */
  async open(caller: FileCaller, given: string): Promise<ReadableFile> {
    const access = await this.#access.resolve(caller, "fs/read_file", { path: given });
    const [{ path, real } = NOWHERE] = access.targets;
    const end = await this.#access.begin(access);
    try {
      const { file, stats } = await onPath(path, () =>
        within(HeldFolder.parent(real), (folder) => folder.read(basename(real))),
      );
      if (stats.nlink > 1 && !reachesAll(caller.principal)) {
        await file.close();
        throw new FileFault(
          "forbidden",
          `${path} has other names (hard links), which may be those of others`,
        );
      }
      const { size, mtime } = stats;
      return {
        ...{ path, size, modified: mtime, version: versionOf(stats) },
        stream: (start, last) => {
          const bytes = Readable.from(wholePart(file, { path, start, last }), { objectMode: false });
          const ended = async () => {
            await file.close();
            await end(bytes.readableEnded ? "completed" : "failed");
          };
          bytes.once("close", () => void ended().catch(this.#onError));
          return bytes;
        },
        close: async () => {
          await file.close();
          await end("completed");
        },
      };
    } catch (error) {
      await end("failed");
      throw error;
    }
  }

  /** Writes a file as it arrives, and makes the folders that it lies in. It is replaced when all of it is on the disk. */
  async write(
    caller: FileCaller,
    given: string,
    body: AsyncIterable<Uint8Array>,
    {
      bytes,
      precondition,
    }: { readonly bytes?: number | undefined; readonly precondition?: Precondition | undefined } = {},
  ): Promise<{ readonly path: string; readonly bytesWritten: number }> {
    const { signal } = caller;
    const limits = this.#limits;
    if (bytes !== undefined && bytes > limits.bytes) throw tooLarge(limits);
    const more = bytes === undefined ? {} : { bytes };
    const access = await this.#access.resolve(caller, "fs/write_file", { path: given }, more);
    const [{ path, real } = NOWHERE] = access.targets;
    return this.#access.perform(access, (note) =>
      within(HeldFolder.parent(real, { make: true }), async (folder) => {
        const exclusively = <Result>(run: () => Promise<Result>) => this.#changes.run(real, run);
        const put = await this.#withRoom(caller, folder, (room) =>
          putFile(folder, basename(real), body, { limits, signal, room, path, precondition, exclusively }),
        );
        note({ path: real, ...put });
        await folder.sync();
        return { path, bytesWritten: put.bytes };
      }),
    );
  }

  /** Makes a folder, and those that it lies in. */
  async makeFolder(caller: FileCaller, given: string): Promise<{ readonly path: string }> {
    const access = await this.#access.resolve(caller, "fs/mkdir", { path: given });
    const [{ path, real } = NOWHERE] = access.targets;
    return this.#access.perform(access, async () => {
      await this.#room.require(caller.principal, (real.split(sep).length - 1) * ENTRY_BYTES);
      await within(HeldFolder.open(real, { make: true }), (folder) => folder.sync());
      return { path };
    });
  }

  /** Removes an entry; of a link, the link. */
  async remove(
    caller: FileCaller,
    given: string,
    {
      recursive = false,
      precondition,
    }: { readonly recursive?: boolean; readonly precondition?: Precondition | undefined } = {},
  ): Promise<{ readonly path: string }> {
    const more = recursive ? { recursive } : {};
    const access = await this.#access.resolve(caller, "fs/delete_entry", { path: given }, more);
    const [{ path, real } = NOWHERE] = access.targets;
    return this.#access.perform(access, async () => {
      await within(HeldFolder.parent(real), (folder) =>
        this.#changes.run(real, async () => {
          expectVersion(await folder.look(basename(real)), precondition, path);
          await folder.remove(basename(real), { recursive });
          await folder.sync();
        }),
      );
      return { path };
    });
  }

  /** Moves an entry. What is at its destination is replaced only where that is wanted. */
  async move(
    caller: FileCaller,
    given: { readonly from: string; readonly to: string; readonly overwrite?: boolean | undefined },
  ): Promise<{ readonly from: string; readonly to: string }> {
    const { overwrite = false } = given;
    const access = await this.#access.resolve(caller, "fs/move", { from: given.from, to: given.to });
    const [from = NOWHERE, to = NOWHERE] = access.targets;
    const moved = { from: from.path, to: to.path };
    return this.#access.perform(access, async () => {
      if (to.real === from.real) return moved;
      if (to.real.startsWith(`${from.real}${sep}`))
        throw new FileFault("invalid", `${from.path} cannot be moved into itself`);
      if (from.real.startsWith(`${to.real}${sep}`))
        throw new FileFault("conflict", `${to.path} holds ${from.path}`);
      await within(HeldFolder.parent(from.real), (left) =>
        within(HeldFolder.parent(to.real, { make: true }), async (right) => {
          const [entry, name] = [basename(from.real), basename(to.real)];
          const [source, replaced] = [await left.look(entry), await right.look(name)];
          if (!source) throw new FileFault("not_found", `${from.path} is not there`);
          if (replaced && !overwrite) throw new FileFault("conflict", `${to.path} is there already`);
          // A file takes the place of a file at once.
          if (replaced && (replaced.isDirectory() || source.isDirectory()))
            await this.#setAside.replace(right, name, left, entry);
          else await right.place(left, entry, name, { replaces: overwrite });
          await right.sync();
          await left.sync();
        }),
      );
      return moved;
    });
  }

  /** Unpacks a tar archive into a folder. An archive that is refused changes nothing. */
  async upload(
    caller: FileCaller,
    given: string | undefined,
    archive: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly paths: readonly string[]; readonly truncated: boolean }> {
    const { signal } = caller;
    const access = await this.#access.resolve(caller, "fs/upload_batch", { path: given ?? "." });
    const [{ path, real } = NOWHERE] = access.targets;
    return this.#access.perform(access, () =>
      within(HeldFolder.open(real, { make: true }), async (folder) => {
        const staged = await folder.createFolder();
        try {
          const unpacked = await this.#withRoom(caller, folder, (room) =>
            unpack(staged.folder, archive, { limits: this.#limits, signal, room }),
          );
          const files = [...unpacked].flatMap(([name, put]) =>
            put ? [{ path: join(real, name), ...put }] : [],
          );
          await this.#decidedInBatches(access, files, async (placed) => {
            for (const [name, put] of unpacked) {
              await onPath(join(path, name), () => placeUnpacked(staged.folder, folder, name, !put));
              if (put) placed.add(join(real, name));
            }
            await syncPlaced(folder, unpacked.keys());
          });
          const paths = files.slice(0, MOST_SHOWN).map((file) => join(path, relative(real, file.path)));
          return { paths, truncated: files.length > MOST_SHOWN };
        } finally {
          await staged.folder.close();
          await folder.discard(staged.name);
        }
      }),
    );
  }

  /** Places the files of an archive once each of them is decided about, and records which were placed. */
  async #decidedInBatches(
    access: CallerAction,
    files: readonly WrittenFile[],
    place: (placed: Set<string>) => Promise<void>,
  ): Promise<void> {
    const batches: { readonly of: readonly WrittenFile[]; readonly end: EndAccess }[] = [];
    const placed = new Set<string>();
    try {
      for (let at = 0; at < files.length; at += BATCH) {
        const of = files.slice(at, at + BATCH);
        const decided = { path: access.arguments.path, files: of.map(({ path }) => path) };
        const end = await this.#access.begin({ ...access, arguments: decided }, { isPart: true });
        batches.push({ of, end });
      }
      await place(placed);
    } catch (error) {
      throw placed.size === 0 ? error : halfPlaced(error, [...placed], files.length);
    } finally {
      for (const { of, end } of batches) {
        const written = of.filter(({ path }) => placed.has(path));
        await end(written.length === of.length ? "completed" : "failed", written);
      }
    }
  }

  /** Writes something within the room of the caller's tenant; what fails gives back what it took. */
  async #withRoom<Result>(
    { principal }: FileCaller,
    folder: HeldFolder,
    write: (room: TakenRoom) => Promise<Result>,
  ): Promise<Result> {
    const room = this.#room.begin(principal, folder);
    try {
      return await write(room);
    } catch (error) {
      room.release();
      throw error;
    }
  }
}

/** Why an archive was placed in part, and what of it. */
function halfPlaced(error: unknown, placed: readonly string[], files: number): unknown {
  if (!(error instanceof FileFault)) return error;
  const named = placed.slice(0, MOST_NAMED).join(", ");
  const more = placed.length > MOST_NAMED ? ` and ${placed.length - MOST_NAMED} more` : "";
  const message = `${error.message}; ${placed.length} of ${files} files were placed before: ${named}${more}`;
  return new FileFault(error.code, message, { cause: error });
}

const NOWHERE = { path: sep, real: sep };

/** Uses a folder and closes it. */
async function within<Result>(
  opening: Promise<HeldFolder>,
  use: (folder: HeldFolder) => Promise<Result>,
): Promise<Result> {
  const folder = await opening;
  try {
    return await use(folder);
  } finally {
    await folder.close();
  }
}

/** The bytes of a file from one position to another, both included. Throws if it has become shorter than that. */
async function* wholePart(
  file: FileHandle,
  { path, start, last }: { readonly path: string; readonly start: number; readonly last: number },
): AsyncGenerator<Uint8Array> {
  let at = start;
  for await (const bytes of file.createReadStream({ start, end: last, highWaterMark: CHUNK })) {
    yield bytes;
    at += bytes.length;
  }
  if (at <= last) throw new FileFault("conflict", `${path} became shorter while it was read`);
}

function entryOf(name: string, path: string, stats: Stats): FoundEntry {
  return {
    ...{ name, path, size: stats.size },
    entryType: stats.isDirectory() ? "directory" : "file",
    modified: stats.mtime.toISOString(),
  };
}
