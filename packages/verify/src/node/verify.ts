import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { verifyFile, verifyLines } from "../export/verify-export.ts";
import type { VerifyOptions } from "../note.ts";
import type { ArtifactSource } from "../private-content.ts";
import { type Report, VerifyError } from "../report.ts";
import type { SignatureChecker } from "../signature.ts";
import { LedgerDatabase } from "./ledger-database.ts";
import { SignatureThreads } from "./signature-threads.ts";

/** What a verification may need to get at a ledger. */
export interface SourceOptions extends VerifyOptions {
  /** Sent as a bearer token when the source is a URL. */
  readonly token?: string | undefined;
}

/** Opens no link and does not wait for the writer of a pipe. Windows knows neither flag. */
const THE_FILE_ITSELF = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The `artifacts/` of a data folder: each file is named by its digest, in a folder named by the first two digits. */
function artifactFolder(folder: string): ArtifactSource {
  return {
    async open(digest) {
      try {
        const file = await openFile(join(folder, digest.slice(0, 2), digest));
        return file.createReadStream();
      } catch (error) {
        if (isMissing(error)) return undefined;
        const reason = error instanceof Error ? error.message : String(error);
        throw new VerifyError("unreadable", `The artifact ${digest} cannot be read: ${reason}.`, {
          cause: error,
        });
      }
    },
  };
}

async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, THE_FILE_ITSELF);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error(`${path} is not a file`);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

/** Verifies the ledger in a data folder, which may be in use: its database is opened read-only. */
async function verifyFolder(
  folder: string,
  options: SourceOptions,
  signatures: SignatureChecker,
): Promise<Report> {
  return verifyDatabase(join(folder, "reins.db"), options, signatures);
}

/** Verifies the ledger in a database, such as the copy of one. Its artifacts lie beside it, if anywhere. */
async function verifyDatabase(
  path: string,
  options: SourceOptions,
  signatures: SignatureChecker,
): Promise<Report> {
  const database = await LedgerDatabase.open(path);
  try {
    await database.settle(options.signal);
    const artifacts = artifactFolder(join(dirname(path), "artifacts"));
    return await verifyLines(database.lines(), { ...options, artifacts, signatures });
  } finally {
    database.close();
  }
}

/** Verifies what a server sends. */
async function verifyUrl(url: string, options: SourceOptions, signatures: SignatureChecker): Promise<Report> {
  const { body, ok, status } = await request(url, options);
  if (ok && body !== null) return verifyFile(body, { ...options, signatures });
  await body?.cancel();
  throw new VerifyError("refused", `The server answered ${status}. ${advice(status)}`, {
    retryable: status >= 500 || status === 429,
  });
}

async function request(url: string, { token, signal }: SourceOptions): Promise<Response> {
  try {
    return await fetch(url, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: signal ?? null,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    const message = `${new URL(url).origin} cannot be reached.`;
    throw new VerifyError("unreachable", message, { retryable: true, cause });
  }
}

function advice(status: number): string {
  if (status === 401 || status === 403) return "Give a token that may read the ledger.";
  return status === 404 ? "Check the address." : "Try again later.";
}

/** Few enough reads that they cost nothing, small enough that memory stays flat. */
const CHUNK = 256 * 1024;

/**
 * Verifies what a person points at: a file (an export, compressed or not, a proof file, or a database), a data folder, or
 * the URL of an export or a proof file.
 *
 * @throws VerifyError when there is nothing there to verify.
 */
export async function verify(source: string, options: SourceOptions = {}): Promise<Report> {
  const signatures = new SignatureThreads();
  try {
    if (/^https?:\/\//i.test(source)) return await verifyUrl(source, options, signatures);
    const file = await openForReading(source);
    if (file === undefined) return await verifyFolder(source, options, signatures);
    if (await isDatabase(file)) {
      await file.close();
      return await verifyDatabase(source, options, signatures);
    }
    return await verifyFile(file.createReadStream({ highWaterMark: CHUNK }), { ...options, signatures });
  } finally {
    await signatures.close();
  }
}

/** How every database of SQLite begins. */
const DATABASE = Buffer.from("SQLite format 3\0");

async function isDatabase(file: FileHandle): Promise<boolean> {
  if (!(await file.stat()).isFile()) return false;
  const { buffer } = await file.read(Buffer.alloc(DATABASE.length), 0, DATABASE.length, 0);
  return buffer.equals(DATABASE);
}

/** Opens a file; nothing when it is a folder. */
async function openForReading(path: string): Promise<FileHandle | undefined> {
  try {
    if ((await stat(path)).isDirectory()) return undefined;
    return await open(path);
  } catch (cause) {
    const message = `${path} cannot be read: there is no such file or folder, or no access.`;
    throw new VerifyError("unreadable", message, { cause });
  }
}
