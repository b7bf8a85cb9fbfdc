import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, realpath, rm, symlink } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createInflateRaw } from "node:zlib";
import { errorMessage, ifExists, readTar, TarError, type TarKind, tarNames } from "@reins/kit";
import { AgentError } from "../agent-error.ts";
import { download } from "../registry/download.ts";
import type { ArchivePlan } from "./install-plan.ts";
import type { InstallationSetting } from "./installation.ts";
import { type Fetched, programIn } from "./packages.ts";

const MOST_BYTES = 1024 ** 3;
const LIMIT_MS = 30 * 60_000;

/** Names what the archive of a version was found to be when it was first installed. */
export function archivePin({ version }: Pick<ArchivePlan, "version">, platform: string): string {
  return `archive ${version} ${platform}`;
}

/** Downloads an archive, checks it, and extracts it. */
export async function installArchive(
  plan: ArchivePlan,
  folder: string,
  setting: InstallationSetting,
): Promise<Fetched> {
  const { url, cmd, version, args } = plan;
  const { pins, onProgress } = setting;
  if (setting.offline) throw new AgentError("download_failed", `${url} is not fetched: Reins is offline.`);
  onProgress?.({ phase: "installing", done: 0, total: 1 });
  const file = join(folder, ".archive");
  const { sha256, bytes } = await fetchArchive(plan, file, setting);
  const pin = archivePin(plan, setting.platform);
  const known = await pins.find(pin);
  for (const expected of [plan.sha256, known])
    if (expected !== undefined && expected !== sha256)
      throw new AgentError(
        "install_failed",
        `${url} is not what it was said to be: its SHA-256 is ${sha256}, and ${expected} was expected.`,
      );
  const files = join(folder, "files");
  await mkdir(files);
  await extract({ file, name: new URL(url).pathname }, files, basename(cmd));
  await rm(file);
  const program = await programIn(folder, join(files, cmd));
  await chmod(join(folder, program), 0o755);
  if (known === undefined) await pins.keep(pin, sha256);
  onProgress?.({ phase: "installing", done: 1, total: 1 });
  const agentProcess = { name: basename(new URL(url).pathname), version, integrity: `sha256-${sha256}` };
  return {
    ...{ packages: [agentProcess], agentProcess, lock: sha256 },
    artifact: { url, sha256, bytes, checked: plan.sha256 !== undefined || known !== undefined },
    start: { with: "file", file: program, args: [...args], imports: [] },
  };
}

async function fetchArchive(
  { url, registry }: ArchivePlan,
  file: string,
  { signal: stop }: InstallationSetting,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const signal = AbortSignal.any([AbortSignal.timeout(LIMIT_MS), ...(stop ? [stop] : [])]);
  const { status, body } = await download(url, { trusted: registry?.url ?? url, signal });
  if (status !== 200) {
    body.destroy();
    throw new AgentError("download_failed", `${url} was answered with the status ${status}.`);
  }
  const hash = createHash("sha256");
  let bytes = 0;
  const checked = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES)
        throw new AgentError("download_failed", `${url} is larger than ${MOST_BYTES} bytes.`);
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(body, checked, createWriteStream(file, { flags: "wx" })).catch((cause: unknown) => {
    if (stop?.aborted) throw new AgentError("cancelled", "The install was cancelled.", { cause });
    if (cause instanceof AgentError) throw cause;
    throw new AgentError("download_failed", `${url} could not be read: ${errorMessage(cause)}`, { cause });
  });
  return { sha256: hash.digest("hex"), bytes };
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_LENGTH = 22;
const CENTRAL_LENGTH = 46;
const LOCAL_LENGTH = 30;
const LONGEST_COMMENT = 0xffff;
const LARGEST_DIRECTORY = 64 * 1024 * 1024;
/** In the place of a number that a zip64 record holds. */
const ELSEWHERE = 0xffffffff;

/** Reads a zip archive by its directory. Archives of 4 GiB or more, encrypted ones and rare compressions are refused. */
async function* zipEntries(path: string): AsyncGenerator<ArchiveEntry> {
  await using file = await open(path);
  const directory = await directoryOf(file);
  for (let place = 0; place + CENTRAL_LENGTH <= directory.length; ) {
    if (directory.readUInt32LE(place) !== CENTRAL) return;
    const names = place + CENTRAL_LENGTH;
    const nameLength = directory.readUInt16LE(place + 28);
    const next = names + nameLength + directory.readUInt16LE(place + 30) + directory.readUInt16LE(place + 32);
    if (next > directory.length) throw badArchive("it is cut off");
    const named = directory.toString("utf8", names, names + nameLength);
    // Programs of Unix put the mode of a file into the upper half.
    const mode = directory.readUInt32LE(place + 38) >>> 16;
    const member = {
      isEncrypted: (directory.readUInt16LE(place + 8) & 1) !== 0,
      method: directory.readUInt16LE(place + 10),
      packed: directory.readUInt32LE(place + 20),
      size: directory.readUInt32LE(place + 24),
      offset: directory.readUInt32LE(place + 42),
    };
    if (member.isEncrypted || [member.packed, member.size, member.offset].includes(ELSEWHERE))
      throw badArchive("it is encrypted, or too large");
    const kind = kindOf(named, mode);
    const content = kind === "folder" ? Readable.from([]) : contentOf(file, member);
    const target = kind === "link" ? await targetOf(content) : undefined;
    yield {
      path: named,
      kind,
      isExecutable: (mode & 0o111) !== 0,
      ...(target !== undefined && { target }),
      content,
    };
    place = next;
  }
}

function kindOf(name: string, mode: number): ArchiveEntry["kind"] {
  const type = mode & 0o170000;
  if (type === 0o120000) return "link";
  if (name.endsWith("/") || type === 0o040000) return "folder";
  return type === 0 || type === 0o100000 ? "file" : "other";
}

async function directoryOf(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat();
  const tail = await read(
    file,
    Math.max(0, size - END_LENGTH - LONGEST_COMMENT),
    Math.min(size, END_LENGTH + LONGEST_COMMENT),
  );
  for (let place = tail.length - END_LENGTH; place >= 0; place -= 1) {
    if (tail.readUInt32LE(place) !== END) continue;
    const [length, offset] = [tail.readUInt32LE(place + 12), tail.readUInt32LE(place + 16)];
    if (length > LARGEST_DIRECTORY || offset + length > size) throw badArchive("its directory is damaged");
    return read(file, offset, length);
  }
  throw badArchive("it is no zip archive");
}

interface Member {
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
}

async function* contentOf(
  file: FileHandle,
  { method, packed, size, offset }: Member,
): AsyncGenerator<Buffer> {
  const header = await read(file, offset, LOCAL_LENGTH);
  if (header.readUInt32LE(0) !== LOCAL) throw badArchive("it is damaged");
  const start = offset + LOCAL_LENGTH + header.readUInt16LE(26) + header.readUInt16LE(28);
  const raw =
    packed === 0
      ? Readable.from([])
      : file.createReadStream({ start, end: start + packed - 1, autoClose: false });
  if (method !== 0 && method !== 8) throw badArchive("it is compressed in a way that is not known");
  const source: AsyncIterable<Buffer> = method === 8 ? through(raw, createInflateRaw()) : raw;
  let left = size;
  for await (const chunk of source) {
    left -= chunk.length;
    if (left < 0) throw badArchive("a file in it is larger than it says");
    yield chunk;
  }
  if (left !== 0) throw badArchive("it is cut off");
}

async function targetOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) {
    pieces.push(piece);
    if (pieces.reduce((total, { length }) => total + length, 0) > 4_096)
      throw badArchive("a link in it is too long");
  }
  return Buffer.concat(pieces).toString("utf8");
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  if (bytesRead < length) throw badArchive("it is cut off");
  return buffer;
}

/** One entry of an archive, as the archive says. Its content is read before the next entry is. */
interface ArchiveEntry {
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly isExecutable?: boolean;
  /** Where a link leads. */
  readonly target?: string;
  readonly content: AsyncIterable<Uint8Array>;
}

const MOST_ENTRIES = 100_000;
const MOST_UNPACKED_BYTES = 4 * 1024 ** 3;
const LONGEST_PATH = 1_024;
const DEEPEST = 40;
const TAR_KINDS: Partial<Readonly<Record<TarKind, ArchiveEntry["kind"]>>> = {
  file: "file",
  folder: "folder",
  "symbolic link": "link",
};

/** Makes the error of an archive that is not extracted. */
function badArchive(why: string, cause?: unknown): AgentError {
  return new AgentError("install_failed", `The archive is refused: ${why}.`, { cause });
}

/**
 * Extracts an archive into an empty folder; its name says its kind. A file whose name says none is the program itself, and
 * gets the name `otherwise`. Throws for an archive that would write or lead out of the folder, and for one that is too large;
 * what is in the folder then is not to be used.
 */
export async function extract(
  archive: { readonly file: string; readonly name: string },
  folder: string,
  otherwise: string,
): Promise<void> {
  try {
    await extractAll(archive, folder, otherwise);
  } catch (error) {
    if (error instanceof AgentError) throw error;
    if (error instanceof TarError) throw badArchive(error.message, error);
    const message = `The archive cannot be extracted: ${errorMessage(error)}`;
    throw new AgentError("install_failed", message, { cause: error });
  }
}

async function extractAll(
  archive: { readonly file: string; readonly name: string },
  folder: string,
  otherwise: string,
): Promise<void> {
  const links: { readonly path: string; readonly target: string }[] = [];
  const size = { entries: 0, bytes: 0 };
  const root = await realpath(folder);
  for await (const entry of entriesOf(archive, otherwise)) {
    size.entries += 1;
    if (size.entries > MOST_ENTRIES) throw badArchive(`it has more than ${MOST_ENTRIES} entries`);
    const path = join(root, safePath(entry.path));
    if (path === root && entry.kind !== "folder") throw badArchive("an entry in it has no name");
    if (entry.kind === "link") links.push({ path, target: entry.target ?? "" });
    else if (entry.kind === "folder") await mkdir(path, { recursive: true });
    else if (entry.kind === "file") await writeEntry(entry, path, size);
    else throw badArchive(`${JSON.stringify(entry.path)} is neither a file, a folder nor a symbolic link`);
  }
  await makeLinks(links, root);
}

function entriesOf(
  { file, name }: { readonly file: string; readonly name: string },
  otherwise: string,
): AsyncIterable<ArchiveEntry> {
  if (/\.zip$/i.test(name)) return zipEntries(file);
  if (/\.(?:tar\.gz|tgz)$/i.test(name)) return tarEntries(unzipped(file));
  if (/\.tar$/i.test(name)) return tarEntries(createReadStream(file));
  if (/\.(?:bz2|tbz2?|xz|txz|zst|7z|rar|dmg|pkg|msi|deb|rpm)$/i.test(name))
    throw badArchive("only .zip, .tar, .tar.gz and .tgz can be extracted");
  return itself(file, otherwise);
}

async function* tarEntries(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  for await (const { path, kind, target, mode, content } of readTar(source, MOST_UNPACKED_BYTES))
    yield { path, kind: TAR_KINDS[kind] ?? "other", target, isExecutable: (mode & 0o111) !== 0, content };
}

async function* itself(file: string, path: string): AsyncGenerator<ArchiveEntry> {
  yield { path, kind: "file", isExecutable: true, content: createReadStream(file) };
}

async function* unzipped(file: string): AsyncGenerator<Buffer> {
  const source = createReadStream(file);
  try {
    yield* through(source, createGunzip());
  } finally {
    source.destroy();
  }
}

/** What comes out of a stream that is decompressed. Leaves the stream open: a file of a zip archive is read on. */
async function* through(source: Readable, decompress: Transform): AsyncGenerator<Buffer> {
  source.on("error", (error) => decompress.destroy(error));
  try {
    yield* source.pipe(decompress);
  } finally {
    decompress.destroy();
  }
}

/** A path of an archive, below the folder it is extracted to. */
function safePath(path: string): string {
  const names = tarNames(path);
  if (path.length > LONGEST_PATH || names.length > DEEPEST || /\\|^[A-Za-z]:/.test(path))
    throw badArchive(`it has the path ${JSON.stringify(path.slice(0, 200))}, which is not taken`);
  return join(...names, ".");
}

async function writeEntry(
  { content, isExecutable = false, path: named }: ArchiveEntry,
  path: string,
  size: { bytes: number },
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Of a mode only this much is taken, and no file is written twice.
  const file = createWriteStream(path, { flags: "wx", mode: isExecutable ? 0o755 : 0o644 });
  const counted = async function* () {
    for await (const chunk of content) {
      size.bytes += chunk.length;
      if (size.bytes > MOST_UNPACKED_BYTES)
        throw badArchive(`it holds more than ${MOST_UNPACKED_BYTES} bytes`);
      yield chunk;
    }
  };
  await pipeline(counted, file).catch((error: unknown) => {
    if (error instanceof AgentError) throw error;
    const name = JSON.stringify(named.slice(0, 200));
    const message = `${name} cannot be extracted: ${errorMessage(error)}`;
    throw new AgentError("install_failed", message, { cause: error });
  });
}

/** Makes links when all files are written, so that nothing is written through one, and refuses those that lead out. */
async function makeLinks(
  links: readonly { readonly path: string; readonly target: string }[],
  root: string,
): Promise<void> {
  const folders = new Set([root]);
  for (const { path, target } of links) {
    await makeFolder(dirname(path), folders);
    await symlink(target, path);
  }
  for (const { path, target } of links) {
    const end = await realpath(path).catch(() => undefined);
    if (end === undefined || (end !== root && !end.startsWith(`${root}${sep}`)))
      throw badArchive(`a link leads out of it, or nowhere: ${JSON.stringify(target.slice(0, 200))}`);
  }
}

/** Makes a folder below those that are known, which are no links. */
async function makeFolder(path: string, known: Set<string>): Promise<void> {
  if (known.has(path)) return;
  await makeFolder(dirname(path), known);
  const found = await ifExists(lstat(path));
  if (found && !found.isDirectory())
    throw badArchive(`it holds something below ${JSON.stringify(basename(path))}, which is no folder`);
  if (!found) await mkdir(path);
  known.add(path);
}
