import { z } from "zod";
import { FileError } from "../../files/file-error.ts";
import { expectFolder } from "../../files/folder-check.ts";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { compilePattern } from "./glob.ts";
import { walk } from "./walk.ts";

const MAX_ENTRIES = 200;

/** Lists what is in a folder. */
export const listFiles = defineTool({
  name: "list_files",
  description:
    "Lists files and folders of the workspace, at most 200. The pattern is a glob from the folder on, such as **/*.ts; without one, the folder's own entries are listed.",
  kind: "search",
  isReadOnly: true,
  arguments: z.strictObject({
    path: z.string().min(1).optional().describe("The folder; the working folder when absent"),
    pattern: z.string().min(1).max(1_000).optional().describe("A glob such as *.md or src/**/*.ts"),
  }),
  title: ({ path = ".", pattern }) => (pattern === undefined ? `List ${path}` : `List ${pattern} in ${path}`),
  prepare: async ({ path = ".", pattern = "*" }, { roots }) => {
    expectInside(pattern);
    return { locations: [await roots.resolve(path)] };
  },
  async perform({ path = ".", pattern: given }, { roots }) {
    const pattern = given ?? "*";
    expectInside(pattern);
    const folder = await roots.resolve(path);
    await expectFolder(folder, path);
    const matches = compilePattern(pattern);
    if (!matches) throw new ToolError("failed", `the pattern ${pattern} stands for too many others`);
    const isDeep = pattern.includes("**");
    const depth = pattern.split("/").length;
    const prefix = await roots.shown(folder);
    const found: string[] = [];
    for await (const one of walk(folder, (inner) => isDeep || inner.split("/").length < depth)) {
      if (!matches(one.path)) continue;
      found.push(`${prefix === "." ? "" : `${prefix}/`}${one.path}${one.isFolder ? "/" : ""}`);
      if (found.length > MAX_ENTRIES) break;
    }
    if (found.length === 0)
      return {
        text: given === undefined ? `There is nothing in ${path}.` : `Nothing in ${path} matches ${given}.`,
      };
    const more =
      found.length > MAX_ENTRIES ? [`[cut here: only the first ${MAX_ENTRIES} entries are shown]`] : [];
    return { text: [...found.slice(0, MAX_ENTRIES), ...more].join("\n") };
  },
});

function expectInside(pattern: string): void {
  if (pattern.startsWith("/") || /(?:^|[/{,])\.\.(?:$|[/},])/.test(pattern))
    throw new FileError("outside", `the pattern ${pattern} leads out of the folder`);
}
