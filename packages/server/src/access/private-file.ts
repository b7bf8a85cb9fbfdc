import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { AccessError } from "./access-error.ts";

const OTHERS = 0o077;
const MOST_BYTES = 1024 * 1024;

/** What a file of secrets holds; `undefined` when there is none. Refuses one that others may read, or lead elsewhere. */
export async function readPrivate(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ELOOP") throw new AccessError("exposed", `${path} leads elsewhere; remove it`);
    throw error;
  });
  if (!file) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > MOST_BYTES)
      throw new AccessError("damaged", `${path} is not a file of ours; remove it`);
    if (process.platform !== "win32" && (stat.mode & OTHERS) !== 0)
      throw new AccessError("exposed", `others may read ${path}; remove it, and a new secret is made`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
