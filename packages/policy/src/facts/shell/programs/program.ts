import { z } from "zod";
import { tableFile } from "../../table-file.ts";

/** What a word of a command line is to the program that gets it. */
export const Role = z.enum([
  /** Nothing that touches anything. */
  "text",
  "read",
  /** Read with everything below it. */
  "tree",
  /** Read with everything below it, and whatever links in there lead to. */
  "follow",
  /** Made, added to, or given other properties. */
  "write",
  /** Replaced, if it is there. */
  "overwrite",
  /** A folder into which things are put that are not named. */
  "fill",
  /** Changed in place. */
  "edit",
  /** Gone afterwards. */
  "destroy",
  /** Read and gone. */
  "move",
  /** A folder that paths on the same line start from. */
  "folder",
  "url",
  "host",
  /** A path if it looks like one that leads out of the folder; otherwise a name of something else. */
  "outside",
  /** A file of this machine, or `host:path`. */
  "remote-read",
  "remote-write",
  /** A text to send, or `@file`. */
  "upload",
  /** `name=value`, or a file. */
  "cookie",
  /** A command line. */
  "shell",
  /** Anything at all. */
  "opaque",
]);
export type Role = z.infer<typeof Role>;

const Shape = z.strictObject({
  /** Options of any kind do no more than the rest of the entry says. */
  any: z.boolean().optional(),
  /** Letters of options without a value. */
  flags: z.string().optional(),
  long: z.array(z.string()).optional(),
  /** Whether `-5` is an option. */
  digits: z.boolean().optional(),
  /** Options with a value. */
  values: z.record(z.string(), Role).optional(),
  /** Options that have a value only if it is attached. */
  attached: z.record(z.string(), Role).optional(),
  /** Options that make the program opaque. */
  never: z.array(z.string()).optional(),
  operands: Role.optional(),
  first: Role.optional(),
  /** Options that take the place of the first operand. */
  firstUnless: z.array(z.string()).optional(),
  last: Role.optional(),
  /** What happens to the working folder when there are no operands. */
  without: Role.optional(),
  /** What happens to the working folder in any case. */
  always: Role.optional(),
  /** What every operand has to look like. */
  like: z.string().optional(),
  /** What the first operand may not hold, being a program of some language. */
  forbid: z.string().optional(),
  /** Every operand, and what is below it. */
  deep: z.boolean().optional(),
  /** Whether of what lies below it looks at names only. */
  names: z.boolean().optional(),
  /** Whether what it writes may be links to anywhere, or may hold some below. */
  links: z.enum(["itself", "below"]).optional(),
  /** Whether it speaks to hosts that its words do not tell. */
  net: z.boolean().optional(),
  /** Why nobody can tell from the words what it does. */
  opaque: z.string().optional(),
  /** Why its effects are not all it does, in words. */
  doubt: z.string().optional(),
});

const Leaf = Shape.extend({
  /** How the entry differs when one of these options is there. */
  when: z.array(Shape.extend({ options: z.array(z.string()) })).optional(),
  /** Argument lists that are no more than a question about the program itself. */
  questions: z.array(z.array(z.string())).optional(),
});

/** How to read the words of one program. */
export const Program = Leaf.extend({
  subcommands: z.record(z.string(), Leaf).optional(),
  /** The operands, after so many, are a command of their own. */
  wraps: z.int().min(0).optional(),
});
export type Program = z.infer<typeof Program>;

const ProgramTable = z.strictObject({
  /** Folders that only the system's owner can put programs into. */
  folders: z.array(z.string()),
  programs: z.record(z.string(), Program),
});

/** The table is a large one, and read when somebody first wants to know of a program. */
let known:
  | { readonly programs: ReadonlyMap<string, Program>; readonly folders: ReadonlySet<string> }
  | undefined;

/** How to read the words of a program, if it is known. */
export function programOf(name: string): Program | undefined {
  known ??= readTable();
  return known.programs.get(name);
}

/** Whether programs in this folder are what their names say. */
export function isSystemFolder(folder: string): boolean {
  known ??= readTable();
  return known.folders.has(folder);
}

function readTable() {
  const { programs, folders } = tableFile("programs.json", ProgramTable);
  const named = Object.entries(programs).flatMap(([names, entry]) =>
    names.split(" ").map((name) => [name, entry] as const),
  );
  return { programs: new Map(named), folders: new Set(folders) };
}
