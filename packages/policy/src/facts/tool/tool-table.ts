import { readdirSync } from "node:fs";
import { z } from "zod";
import { tableFile } from "../files.ts";

/** What an argument of a tool is. */
export const ArgumentRole = z.enum([
  /** Nothing that touches anything. */
  "text",
  "read",
  /** A folder that is searched, with what is below it. */
  "tree",
  /** A glob whose matches are read. */
  "glob",
  /** A glob of the files that are read of what is searched. */
  "only",
  /** Changed in place, or made. */
  "change",
  /** Replaced if it is there. */
  "overwrite",
  "delete",
  /** The folder that relative paths and commands of the same call start from. */
  "folder",
  /** A command line. */
  "shell",
  /** A program and its arguments, as a list. */
  "words",
  "url",
  /** A text in which addresses stand that are fetched. */
  "urls",
  "patch",
  /** Whether a git worktree is made of the repository whose top the searched folder is, and how. */
  "worktree",
  /** A list of edits, each with arguments of its own. */
  "edits",
  /** May be anything: a call with it is opaque. */
  "opaque",
]);
export type ArgumentRole = z.infer<typeof ArgumentRole>;

const Tool = z.strictObject({
  arguments: z.record(z.string(), ArgumentRole),
  /** Without these the call is not what the table describes. */
  required: z.array(z.string()).optional(),
  /** The arguments of each edit of a list. */
  edits: z.record(z.string(), ArgumentRole).optional(),
  /** What the tool does to the working folder if no argument names another. */
  without: ArgumentRole.optional(),
  /** Whether it connects to hosts that its arguments do not name. */
  net: z.boolean().optional(),
  /** Why the arguments do not show what it does. */
  opaque: z.string().optional(),
});

/** What one tool's arguments are. */
export type Tool = z.infer<typeof Tool>;

/** The tools of one agent, by the exact names it calls them. */
export const ToolTable = z.strictObject({
  agent: z.string(),
  /** Other names it goes by. */
  also: z.array(z.string()).default([]),
  /** The version that the table was written for, and where that is documented. */
  source: z.string(),
  tools: z.record(z.string(), Tool),
});
export type ToolTable = z.infer<typeof ToolTable>;

/** The tool tables by agent. */
export type ToolTables = ReadonlyMap<string, ToolTable>;

/** Checks tool tables and puts them under their agents' names. Throws when one does not fit. */
export function toolTables(documents: readonly unknown[]): ToolTables {
  const tables = documents.map((document) => ToolTable.parse(document));
  return new Map(
    tables.flatMap((table) => [table.agent, ...table.also].map((name) => [name, table] as const)),
  );
}

/** The tool tables that this package brings along. */
export function loadToolTables(): ToolTables {
  const folder = new URL("../../../tables/tools/", import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return toolTables(names.map((name) => tableFile(`tools/${name}`, z.unknown())));
}
