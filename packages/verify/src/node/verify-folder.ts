import { dirname, join } from "node:path";
import { verifyLines } from "../export/verify-export.ts";
import type { Report } from "../report/report.ts";
import type { SignatureChecker } from "../signature/checker.ts";
import { artifactFolder } from "./artifact-folder.ts";
import { LedgerDatabase } from "./ledger-database.ts";
import type { SourceOptions } from "./source-options.ts";

/** Verifies the ledger in a data folder, which may be in use: its database is opened read-only. */
export async function verifyFolder(
  folder: string,
  options: SourceOptions,
  signatures: SignatureChecker,
): Promise<Report> {
  return verifyDatabase(join(folder, "reins.db"), options, signatures);
}

/** Verifies the ledger in a database, such as the copy of one. Its artifacts lie beside it, if anywhere. */
export async function verifyDatabase(
  path: string,
  options: SourceOptions,
  signatures: SignatureChecker,
): Promise<Report> {
  const database = await LedgerDatabase.open(path);
  try {
    await database.settle(options.signal);
    const shelf = artifactFolder(join(dirname(path), "artifacts"));
    return await verifyLines(database.lines(), { ...options, shelf, signatures });
  } finally {
    database.close();
  }
}
