import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Shelf } from "../private/shelf.ts";
import { VerifyError } from "../verify-error.ts";

/** The `artifacts/` of a data folder: each file is named by its digest, in a folder named by the first two digits. */
export function artifactFolder(folder: string): Shelf {
  return {
    async open(digest) {
      try {
        const file = await open(join(folder, digest.slice(0, 2), digest));
        return file.createReadStream();
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw new VerifyError("unreadable", `The artifact ${digest} cannot be read.`, { cause: error });
      }
    },
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
