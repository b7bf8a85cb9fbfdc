import { readFile } from "node:fs/promises";
import { systemCode } from "../errors/system-code.ts";

/** What a small file holds; `undefined` when there is none. */
export async function readKept(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
