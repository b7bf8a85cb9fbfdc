import type { FilePort } from "../files.ts";
import type { Sight } from "../sight.ts";

/** Files with keys that git keeps of a work tree, as far as its index tells, and that a program is shown. */
export async function trackedCredentials(
  _files: FilePort,
  _folder: string,
  _sight: Sight,
): Promise<readonly string[]> {
  return [];
}
