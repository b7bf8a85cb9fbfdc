import { type FileHandle, open, stat } from "node:fs/promises";
import type { Report } from "../report/report.ts";
import { VerifyError } from "../verify-error.ts";
import { verifyFile } from "../verify-file.ts";
import { SignatureThreads } from "./signature-threads.ts";
import type { SourceOptions } from "./source-options.ts";
import { verifyFolder } from "./verify-folder.ts";
import { verifyUrl } from "./verify-url.ts";

/** Few enough reads that they cost nothing, small enough that memory stays flat. */
const CHUNK = 256 * 1024;

/**
 * Verifies what a person points at: a file (an export, compressed or not, or a proof file), a data folder, or the URL
 * of either kind of file.
 *
 * @throws VerifyError when there is nothing there to verify.
 */
export async function verify(source: string, options: SourceOptions = {}): Promise<Report> {
  const signatures = new SignatureThreads();
  try {
    if (/^https?:\/\//i.test(source)) return await verifyUrl(source, options, signatures);
    const file = await openForReading(source);
    if (file === undefined) return await verifyFolder(source, options, signatures);
    return await verifyFile(file.createReadStream({ highWaterMark: CHUNK }), { ...options, signatures });
  } finally {
    await signatures.close();
  }
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
