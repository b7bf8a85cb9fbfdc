import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { FileError, systemCode } from "./file-error.ts";
import { placeOf } from "./opened.ts";
import type { Roots } from "./roots.ts";

/**
 * Uses a folder within the roots by a path that keeps leading there: on Linux through its descriptor, so that nobody who
 * moves folders about meanwhile can lead us elsewhere. `make` makes it when it is not there.
 */
export async function withFolder<Result>(
  roots: Roots,
  path: string,
  { make }: { readonly make: boolean },
  use: (base: string) => Promise<Result>,
): Promise<Result> {
  const real = await roots.resolve(path);
  if (make) await mkdir(real, { recursive: true });
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const folder = await open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") throw new FileError("missing", `there is no folder ${path}`);
    if (systemCode(error) === "ENOTDIR") throw new FileError("not_a_folder", `${path} is no folder`);
    throw error;
  });
  try {
    const place = await placeOf(folder, real);
    await roots.expectInside(place, path);
    return await use(process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : place);
  } finally {
    await folder.close();
  }
}
