import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, realpath, symlink } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { readTar, TarError, type TarKind, tarNames } from "@reins/kit";
import { AgentError } from "../agent-error.ts";
import { zipEntries } from "./zip.ts";

/** One entry of an archive, as the archive says. Its content is read before the next entry is. */
export interface ArchiveEntry {
  readonly path: string;
  readonly kind: "file" | "folder" | "link" | "other";
  readonly isExecutable?: boolean;
  /** Where a link leads. */
  readonly target?: string;
  readonly content: AsyncIterable<Uint8Array>;
}

const MOST_ENTRIES = 100_000;
const MOST_BYTES = 4 * 1024 ** 3;
const LONGEST_PATH = 1_024;
const DEEPEST = 40;
const TAR_KINDS: Partial<Readonly<Record<TarKind, ArchiveEntry["kind"]>>> = {
  file: "file",
  folder: "folder",
  "symbolic link": "link",
};

/** Makes the error of an archive that is not extracted. */
export function badArchive(why: string, cause?: unknown): AgentError {
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
    throw error instanceof TarError ? badArchive(error.message, error) : error;
  }
}

async function extractAll(
  archive: { readonly file: string; readonly name: string },
  folder: string,
  otherwise: string,
): Promise<void> {
  const links: { readonly path: string; readonly target: string }[] = [];
  const size = { entries: 0, bytes: 0 };
  for await (const entry of entriesOf(archive, otherwise)) {
    size.entries += 1;
    if (size.entries > MOST_ENTRIES) throw badArchive(`it has more than ${MOST_ENTRIES} entries`);
    const path = join(folder, safePath(entry.path));
    if (entry.kind === "link") links.push({ path, target: entry.target ?? "" });
    else if (entry.kind === "folder") await mkdir(path, { recursive: true });
    else if (entry.kind === "file") await writeEntry(entry, path, size);
    else throw badArchive(`${JSON.stringify(entry.path)} is neither a file, a folder nor a symbolic link`);
  }
  await makeLinks(links, await realpath(folder));
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
  for await (const { path, kind, target, mode, content } of readTar(source, MOST_BYTES))
    yield { path, kind: TAR_KINDS[kind] ?? "other", target, isExecutable: (mode & 0o111) !== 0, content };
}

async function* itself(file: string, path: string): AsyncGenerator<ArchiveEntry> {
  yield { path, kind: "file", isExecutable: true, content: createReadStream(file) };
}

async function* unzipped(file: string): AsyncGenerator<Buffer> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  source.on("error", (error) => gunzip.destroy(error));
  try {
    yield* source.pipe(gunzip);
  } finally {
    source.destroy();
    gunzip.destroy();
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
      if (size.bytes > MOST_BYTES) throw badArchive(`it holds more than ${MOST_BYTES} bytes`);
      yield chunk;
    }
  };
  await pipeline(counted, file).catch((error: unknown) => {
    if (error instanceof AgentError) throw error;
    throw new AgentError("install_failed", `${JSON.stringify(named.slice(0, 200))} cannot be extracted`, {
      cause: error,
    });
  });
}

/** Makes links when all files are written, so that none is written through one, and refuses those that lead out. */
async function makeLinks(
  links: readonly { readonly path: string; readonly target: string }[],
  root: string,
): Promise<void> {
  for (const { path, target } of links) {
    await mkdir(dirname(path), { recursive: true });
    await symlink(target, path);
  }
  for (const { path, target } of links) {
    const end = await realpath(path).catch(() => undefined);
    if (end === undefined || (end !== root && !end.startsWith(`${root}${sep}`)))
      throw badArchive(`a link leads out of it, or nowhere: ${JSON.stringify(target.slice(0, 200))}`);
  }
}
