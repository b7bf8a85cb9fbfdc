import { z } from "zod";
import { FileError } from "../../files/file-error.ts";
import { beginningOf, withFile } from "../../files/opened.ts";
import { textIn } from "../../files/text.ts";
import { writeWhole } from "../../files/write.ts";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

/** The largest file that is edited. */
const MAX_BYTES = 5 * 1024 * 1024;

/** Replaces a text within a file. */
export const editFile = defineTool({
  name: "edit_file",
  description:
    "Replaces a text in a file of the workspace. The old text has to be there exactly, and only once unless all places are to be changed.",
  kind: "edit",
  arguments: z.strictObject({
    path: z.string().min(1).describe("The file, from the working folder on or absolute"),
    old_text: z.string().min(1).describe("What is there now"),
    new_text: z.string().describe("What is to be there instead"),
    replace_all: z.boolean().optional().describe("Whether to change every place"),
  }),
  title: ({ path }) => `Edit ${path}`,
  prepare: async ({ path, old_text, new_text }, { roots }) => {
    const real = await roots.resolve(path);
    return {
      locations: [real],
      content: [{ type: "diff", path: real, oldText: old_text, newText: new_text }],
    };
  },
  async perform({ path, old_text, new_text, replace_all = false }, { roots }) {
    const text = await withFile(roots, path, async (file) => {
      if ((await file.stat()).size > MAX_BYTES)
        throw new FileError("too_large", `${path} is too large to be edited`);
      return textIn(await beginningOf(file, MAX_BYTES), false);
    });
    if (text === undefined) throw new FileError("not_text", `${path} is no text file`);
    const places = text.split(old_text).length - 1;
    if (places === 0) throw new ToolError("failed", `the old text is not in ${path}; read it again`);
    if (places > 1 && !replace_all)
      throw new ToolError(
        "failed",
        `the old text is ${places} times in ${path}; give more of it, or set replace_all`,
      );
    await writeWhole(roots, path, text.split(old_text).join(new_text));
    return {
      text: `Changed ${places} place${places === 1 ? "" : "s"} in ${path}.`,
      content: [{ type: "diff", path: await roots.resolve(path), oldText: old_text, newText: new_text }],
    };
  },
});
