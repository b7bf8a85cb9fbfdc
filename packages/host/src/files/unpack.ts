import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { dirname } from "node:path/posix";
import { readTar, type TarKind, tarNames } from "@reins/kit";
import { blake3Hasher } from "@reins/ledger";
import type { WrittenFile } from "../control/outcome.ts";
import { FileFault, onPath } from "./file-fault.ts";
import type { HeldFolder } from "./held-folder.ts";
import { ENTRY_BYTES, type TakenRoom } from "./tenant-room.ts";

/** How much callers may send. */
export interface UploadLimits {
  /** The most bytes of a file, and of an archive with its files together. */
  readonly bytes: number;
  /** The most files and folders of an archive. */
  readonly entries: number;
}

/** How a file is written. */
interface Wanted {
  readonly limits: UploadLimits;
  readonly signal: AbortSignal;
  readonly room: Pick<TakenRoom, "take">;
  /** Its permissions; by default those of a new file. */
  readonly mode?: number | undefined;
  /** Its path, for errors. */
  readonly path: string;
  readonly precondition?: Precondition | undefined;
  /** Runs the last check and the replacement, one after another for a file. */
  readonly exclusively?: (<Result>(run: () => Promise<Result>) => Promise<Result>) | undefined;
}

/** Whether a file may be changed that has this version; undefined where there is none. */
export type Precondition = (version: string | undefined) => boolean;

/** Names the content of a file: changes with it. */
export function versionOf({ ino, size, mtimeMs }: Pick<Stats, "ino" | "size" | "mtimeMs">): string {
  return [ino, size, Math.round(mtimeMs * 1_000)].map((part) => part.toString(36)).join("-");
}

/** Throws unless a precondition holds. */
export function expectVersion(
  found: Stats | undefined,
  precondition: Precondition | undefined,
  path: string,
): void {
  if (!precondition || precondition(found && versionOf(found))) return;
  throw new FileFault("precondition_failed", `${path} is not in the version that was named; read it again`);
}

/** What was written of a file. */
export type PutFile = Required<Omit<WrittenFile, "path">>;

/** Writes a file as it arrives: under another name, which replaces the file when all of it is on the disk. */
export async function putFile(
  folder: HeldFolder,
  name: string,
  body: AsyncIterable<Uint8Array>,
  { limits, signal, room, mode, path, precondition, exclusively = (run) => run() }: Wanted,
): Promise<PutFile> {
  const before = await expectReplaceable(folder, name, path);
  expectVersion(before, precondition, path);
  const hasher = await blake3Hasher();
  const sha256 = createHash("sha256");
  await room.take(ENTRY_BYTES);
  const made = await folder.create();
  let bytesWritten = 0;
  try {
    try {
      for await (const chunk of body) {
        signal.throwIfAborted();
        bytesWritten += chunk.length;
        if (bytesWritten > limits.bytes) throw tooLarge(limits);
        hasher.update(chunk);
        sha256.update(chunk);
        await room.take(chunk.length);
        await made.file.writeFile(chunk);
      }
      const kept = before ? before.mode & 0o777 : mode;
      if (kept !== undefined) await made.file.chmod(kept);
      await made.file.sync();
    } finally {
      await made.file.close();
    }
    signal.throwIfAborted();
    await exclusively(async () => {
      expectVersion(await expectReplaceable(folder, name, path), precondition, path);
      await folder.place(folder, made.name, name, { replaces: true });
    });
    return { bytes: bytesWritten, content_hash: hasher.digest(), sha256: sha256.digest("hex") };
  } catch (error) {
    await folder.discard(made.name);
    throw error;
  }
}

const NOT_TAKEN: Readonly<Record<Exclude<TarKind, "file" | "folder">, string>> = {
  "symbolic link": "a symbolic link",
  "hard link": "a hard link",
  device: "a device",
  pipe: "a pipe",
  "sparse file": "a sparse file",
  unknown: "neither a file nor a folder",
};

/** Unpacks an archive into a folder; returns its paths, each with what was written, and folders without. */
export async function unpack(
  folder: HeldFolder,
  archive: AsyncIterable<Uint8Array>,
  { limits, signal, room }: Pick<Wanted, "limits" | "signal" | "room">,
): Promise<ReadonlyMap<string, PutFile | undefined>> {
  const unpacked = new Map<string, PutFile | undefined>();
  let entries = 0;
  for await (const { path: given, kind, mode, content } of readTar(archive, limits.bytes)) {
    signal.throwIfAborted();
    // Each counts, also one whose name came before: it is work and a place in the archive.
    entries += 1;
    if (entries > limits.entries)
      throw new FileFault("too_large", `an archive has at most ${limits.entries} entries`);
    if (kind !== "file" && kind !== "folder")
      throw new FileFault(
        "invalid",
        `the archive has the entry ${JSON.stringify(given)}, which is ${NOT_TAKEN[kind]}`,
      );
    const isFolder = kind === "folder";
    const names = tarNames(given);
    const name = names.at(-1);
    if (name === undefined) continue;
    const path = names.join("/");
    if (isFolder) await room.take(ENTRY_BYTES);
    await onPath(path, async () => {
      const parent = await folder.folder(isFolder ? names : names.slice(0, -1), { make: true });
      try {
        const wanted = { limits, signal, room, mode: (mode & 0o755) | 0o600, path };
        unpacked.set(path, isFolder ? undefined : await putFile(parent, name, content, wanted));
      } finally {
        if (parent !== folder) await parent.close();
      }
    });
  }
  return unpacked;
}

/** Puts an unpacked entry of one folder into another. */
export async function placeUnpacked(
  staged: HeldFolder,
  folder: HeldFolder,
  path: string,
  isFolder: boolean,
): Promise<void> {
  const names = path.split("/");
  const parents = isFolder ? names : names.slice(0, -1);
  const name = names.at(-1) ?? "";
  const target = await folder.folder(parents, { make: true });
  try {
    if (isFolder) return;
    const source = await staged.folder(parents);
    try {
      await expectReplaceable(target, name, path);
      await target.place(source, name, name, { replaces: true });
    } finally {
      if (source !== staged) await source.close();
    }
  } finally {
    if (target !== folder) await target.close();
  }
}

/** Has what was placed of an archive reach the disk. */
export async function syncPlaced(folder: HeldFolder, paths: Iterable<string>): Promise<void> {
  for (const parent of new Set([...paths].map((path) => dirname(path)))) {
    const held = await folder.folder(parent === "." ? [] : parent.split("/"));
    try {
      await held.sync();
    } finally {
      if (held !== folder) await held.close();
    }
  }
}

/** The error of what is larger than is taken. */
export function tooLarge({ bytes }: UploadLimits): FileFault {
  return new FileFault("too_large", `at most ${bytes} bytes are taken at once`);
}

/** What is at a name, which a file may replace. */
async function expectReplaceable(folder: HeldFolder, name: string, path: string): Promise<Stats | undefined> {
  const found = await folder.look(name);
  if (!found || found.isFile()) return found;
  const what = found.isDirectory() ? "a folder" : found.isSymbolicLink() ? "a link by now" : "no plain file";
  throw new FileFault("conflict", `${path} is ${what}`);
}
