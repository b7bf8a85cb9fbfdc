import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { compilePattern, errorCode } from "@reins/kit";
import { z } from "zod";
import { FileError } from "../files/roots.ts";
import { requireFolder } from "../files/workspace-files.ts";
import { defineTool, ToolError } from "./tool.ts";

const MAX_ENTRIES = 200;

/** Lists a folder. */
export const listFiles = defineTool({
  name: "list_files",
  description:
    "Lists files and folders of the workspace, at most 200. The pattern is a glob from the folder on, such as **/*.ts; without one, the folder's own entries are listed.",
  kind: "search",
  isReadOnly: true,
  isConcurrent: true,
  arguments: z.strictObject({
    path: z.string().min(1).optional().describe("The folder; the working folder when absent"),
    pattern: z.string().min(1).max(1_000).optional().describe("A glob such as *.md or src/**/*.ts"),
  }),
  title: ({ path = ".", pattern }) => (pattern === undefined ? `List ${path}` : `List ${pattern} in ${path}`),
  prepare: async ({ path = ".", pattern = "*" }, { roots }) => {
    requireInside(pattern);
    return { locations: [await roots.resolve(path)] };
  },
  async perform({ path = ".", pattern: given }, { roots }) {
    const pattern = given ?? "*";
    requireInside(pattern);
    const folder = await roots.resolve(path);
    await requireFolder(folder, path);
    const matches = compilePattern(pattern);
    if (!matches) throw new ToolError("failed", `the pattern ${pattern} has too many alternatives`);
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

function requireInside(pattern: string): void {
  if (pattern.startsWith("/") || /(?:^|[/{,])\.\.(?:$|[/},])/.test(pattern))
    throw new FileError("outside", `the pattern ${pattern} leads out of the folder`);
}

/** An entry with its path relative to the start of the walk. */
export interface Found {
  readonly path: string;
  readonly isFolder: boolean;
}

/** Folders that are listed but not entered. */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([".git", "node_modules"]);
/** The most entries that are read. */
const MAX_SEEN = 50_000;

/** Walks a folder breadth first and in order, without following links. `goesInto` selects the folders to enter. */
async function* walk(root: string, goesInto: (path: string) => boolean): AsyncIterable<Found> {
  let level = [""];
  let seen = 0;
  while (level.length > 0) {
    const next: string[] = [];
    for (const folder of level) {
      for (const entry of await entriesOf(join(root, folder), MAX_SEEN - seen)) {
        seen += 1;
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        const isFolder = entry.isDirectory();
        yield { path, isFolder };
        if (isFolder && !SKIPPED_FOLDERS.has(entry.name) && goesInto(path)) next.push(path);
      }
      if (seen >= MAX_SEEN) return;
    }
    level = next;
  }
}

async function entriesOf(folder: string, limit: number): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      entries.push(entry);
      if (entries.length >= limit) break;
    }
  } catch (error) {
    // The folder may be unreadable or deleted by now.
    if (errorCode(error) !== "EACCES" && errorCode(error) !== "ENOENT") throw error;
  }
  return entries.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}
