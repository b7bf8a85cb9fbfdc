import { realpath } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { hasCode } from "@reins/kit";
import { FileError, readText } from "../files/text-file.ts";

const MAX_LENGTH = 32 << 10;
/** What a mandate is written in. Keys and databases have other names, so that no roster can make one of them known. */
const EXTENSIONS: ReadonlySet<string> = new Set([".md", ".markdown", ".txt"]);

/** A mandate, or why it cannot be had. */
type MandateText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

/** Reads the file that a roster names, from the home or its folder `mandates`. Nothing outside of the home is read. */
export async function readMandate(home: string, name: string): Promise<MandateText> {
  for (const path of [resolve(home, name), resolve(home, "mandates", name)]) {
    const found = await readInside(home, path);
    if (found) return found;
  }
  return { fault: "there is no such file in the home or in its folder mandates" };
}

async function readInside(home: string, path: string): Promise<MandateText | undefined> {
  try {
    const kind = extname(await realpath(path)).toLowerCase();
    if (!EXTENSIONS.has(kind)) return { fault: "a mandate is a .md or .txt file" };
    const { content } = await readText(path, {}, [await realpath(home)]);
    if (content.length <= MAX_LENGTH) return { text: content };
    return { fault: `a mandate has at most ${MAX_LENGTH} characters` };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    if (error instanceof FileError) return { fault: "it is not a plain file inside of the home" };
    if (error instanceof Error && "code" in error) return { fault: `it cannot be read (${error.message})` };
    throw error;
  }
}
