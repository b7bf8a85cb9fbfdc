import { z } from "zod";
import { FileError } from "../../files/file-error.ts";
import { beginningOf, withFile } from "../../files/opened.ts";
import { textIn } from "../../files/text.ts";
import { defineTool } from "../tool.ts";

/** As much of a file as is read. */
const MAX_BYTES = 50 * 1024;

/** Reads a text file. */
export const readFile = defineTool({
  name: "read_file",
  description: "Reads a text file of the workspace. Files longer than 50 KB are cut.",
  kind: "read",
  isReadOnly: true,
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
  }),
  title: ({ path }) => `Read ${path}`,
  prepare: async ({ path }, { roots }) => ({ locations: [await roots.resolve(path)] }),
  perform: ({ path }, { roots }) =>
    withFile(roots, path, async (file) => {
      const { size } = await file.stat();
      const bytes = await beginningOf(file, MAX_BYTES);
      const isCut = size > bytes.length && bytes.length === MAX_BYTES;
      const text = textIn(bytes, isCut);
      if (text === undefined) throw new FileError("not_text", `${path} is no text file`);
      return { text: isCut ? `${text}\n[cut here: the file has ${size} bytes]` : text };
    }),
});
