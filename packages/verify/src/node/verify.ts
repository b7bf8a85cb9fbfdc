import { type FileHandle, open, stat } from "node:fs/promises";
import type { Report } from "../report/report.ts";
import { VerifyError } from "../verify-error.ts";
import { verifyFile } from "../verify-file.ts";
import { SignatureThreads } from "./signature-threads.ts";
import type { SourceOptions } from "./source-options.ts";
import { verifyDatabase, verifyFolder } from "./verify-folder.ts";
import { verifyUrl } from "./verify-url.ts";

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
