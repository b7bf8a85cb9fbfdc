import { lstat, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { FileError, systemCode } from "../../files/file-error.ts";
import { withFolder } from "../../files/folder.ts";
import type { Roots } from "../../files/roots.ts";
import { defineTool } from "../tool.ts";

/** Deletes a file or a folder. */
export const deleteFile = defineTool({
  name: "delete_file",
  description:
    "Deletes a file of the workspace, or a folder with everything in it. It cannot be brought back.",
  kind: "delete",
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
  }),
  title: ({ path }) => `Delete ${path}`,
  prepare: async ({ path }, { roots }) => ({ locations: [join(...(await placeIn(roots, path)))] }),
  async perform({ path }, { roots }) {
    const [folder, name] = await placeIn(roots, path);
    await withFolder(roots, folder, { make: false }, async (base) => {
      const at = join(base, name);
      await lstat(at).catch((error: unknown) => {
        if (systemCode(error) === "ENOENT") throw new FileError("missing", `there is no ${path}`);
        throw error;
      });
      // Links within are taken away and not followed.
      await rm(at, { recursive: true });
    });
    return { text: `Deleted ${path}.` };
  },
});

/** The real folder of what is to go, and its name there. A link is what it is, not what it leads to. */
async function placeIn(roots: Roots, path: string): Promise<readonly [folder: string, name: string]> {
  const name = basename(path);
  if (name === "" || name === "." || name === ".." || (await roots.isRoot(await roots.resolve(path))))
    throw new FileError("invalid", "the workspace itself is not deleted; name what is in it");
  return [await roots.resolve(dirname(path)), name];
}
