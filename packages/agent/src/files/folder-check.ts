import { stat } from "node:fs/promises";
import { FileError, systemCode } from "./file-error.ts";

/** Throws unless there is a folder at a real path; `shown` is what it was called. */
export async function expectFolder(real: string, shown: string): Promise<void> {
  const found = await stat(real).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") throw new FileError("missing", `there is no folder ${shown}`);
    throw error;
  });
  if (!found.isDirectory()) throw new FileError("not_a_folder", `${shown} is no folder`);
}
