import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { FileError, systemCode } from "./file-error.ts";
import { withFolder } from "./folder.ts";
import type { Roots } from "./roots.ts";

/** Writes a file as a whole: who reads it meanwhile sees the old one or the new one. Folders are made as needed. */
export async function writeWhole(roots: Roots, path: string, content: string): Promise<void> {
  const real = await roots.resolve(path);
  const name = basename(real);
  await withFolder(roots, dirname(real), { make: true }, async (base) => {
    const mode = await modeOf(join(base, name), path);
    const fresh = join(base, `.${name.slice(0, 100)}.${randomUUID()}`);
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    try {
      const file = await open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? 0o666);
      try {
        await file.writeFile(content, "utf8");
        if (mode !== undefined) await file.chmod(mode);
      } finally {
        await file.close();
      }
      await rename(fresh, join(base, name));
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
  });
}

/** The rights of the file that is replaced; `undefined` when there is none. */
async function modeOf(at: string, path: string): Promise<number | undefined> {
  try {
    const found = await lstat(at);
    if (found.isDirectory()) throw new FileError("not_a_file", `${path} is a folder`);
    return found.isFile() ? found.mode & 0o777 : undefined;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
