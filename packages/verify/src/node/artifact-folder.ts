import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { Shelf } from "../private/shelf.ts";
import { VerifyError } from "../verify-error.ts";

/** What somebody put there in place of a file may have no end, or wait for a writer. Windows knows neither flag. */
const THE_FILE_ITSELF = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The `artifacts/` of a data folder: each file is named by its digest, in a folder named by the first two digits. */
export function artifactFolder(folder: string): Shelf {
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
