import { z } from "zod";
import { writeWhole } from "../../files/write.ts";
import { defineTool } from "../tool.ts";

/** Makes a file, or replaces one. */
export const writeFile = defineTool({
  name: "write_file",
  description: "Writes a text file of the workspace, replacing what was there. Folders are made as needed.",
  kind: "edit",
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
    content: z.string().describe("All of its text"),
  }),
  title: ({ path }) => `Write ${path}`,
  // The old text is not looked at for this: whether it may be is what is being asked.
  prepare: async ({ path, content }, { roots }) => {
    const real = await roots.resolve(path);
    return { locations: [real], content: [{ type: "diff", path: real, oldText: null, newText: content }] };
  },
  async perform({ path, content }, { roots }) {
    const real = await roots.resolve(path);
    await writeWhole(roots, path, content);
    return {
      text: `Wrote ${Buffer.byteLength(content)} bytes to ${path}.`,
      content: [{ type: "diff", path: real, oldText: null, newText: content }],
    };
  },
});
