import { type FileHandle, open, realpath } from "node:fs/promises";
import { extname, join, sep } from "node:path";

/** A file of the page, open; whoever gets it closes it. */
export interface UiFile {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly type: string;
  /** How it is compressed, where it is. */
  readonly encoding: "br" | "gzip" | undefined;
  /** Whether its name changes with what is in it, so that it can be kept for good. */
  readonly immutable: boolean;
  /** Tells one content from another. */
  readonly tag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
};

const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Finds a file below a folder, the smallest form of it that a browser takes; nothing when there is none. */
export async function findUiFile(folder: string, path: string, accepts: string): Promise<UiFile | undefined> {
  const type = TYPES[extname(path)];
  if (type === undefined) return undefined;
  const immutable = path.startsWith("assets/");
  for (const [encoding, suffix] of ENCODINGS) {
    if (!takes(accepts, encoding)) continue;
    const found = await openInside(folder, path + suffix);
    if (found) return { ...found, type, encoding, immutable };
  }
  const plain = await openInside(folder, path);
  return plain && { ...plain, type, encoding: undefined, immutable };
}

/** Whether an `Accept-Encoding` names an encoding and does not refuse it. */
function takes(accepts: string, encoding: string): boolean {
  return accepts.split(",").some((one) => {
    const [name, ...parameters] = one.split(";").map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Opens a file if it lies in the folder, wherever links lead; it is looked at through what was opened. */
async function openInside(
  folder: string,
  path: string,
): Promise<Pick<UiFile, "handle" | "bytes" | "tag"> | undefined> {
  const handle = await opened(join(folder, path));
  if (!handle) return undefined;
  const found = await looked(handle, folder, path).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  if (found) return { handle, ...found };
  await handle.close();
  return undefined;
}

/** What is known of an open file; nothing when it lies elsewhere, is none, or has gone meanwhile. */
async function looked(
  handle: FileHandle,
  folder: string,
  path: string,
): Promise<Pick<UiFile, "bytes" | "tag"> | undefined> {
  const status = await handle.stat();
  const [root, real] = await Promise.all([
    unlessAbsent(realpath(folder)),
    unlessAbsent(realpath(join(folder, path))),
  ]);
  if (!status.isFile() || root === undefined || !real?.startsWith(root + sep)) return undefined;
  return { bytes: status.size, tag: `"${status.size.toString(36)}-${status.mtimeMs.toString(36)}"` };
}

function opened(path: string): Promise<FileHandle | undefined> {
  return unlessAbsent(open(path, "r"));
}

async function unlessAbsent<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Error && "code" in error && ABSENT.has(String(error.code))) return undefined;
    throw error;
  }
}

const ABSENT: ReadonlySet<string> = new Set([
  "ENOENT",
  "ENOTDIR",
  "EISDIR",
  "ENAMETOOLONG",
  "EACCES",
  "ELOOP",
]);
