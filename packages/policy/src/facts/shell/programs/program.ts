import { z } from "zod";
import { tableFile } from "../../files.ts";

/** What a word of a command line is to the program that gets it. */
export const Role = z.enum([
  /** Nothing that touches anything. */
  "text",
  "read",
  /** A file that names other files, which are read as well. */
  "list",
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
  /** The beginning of the names of files that are made. */
  "prefix",
  /** What an answer looks like; no file. */
  "format",
  /** `owner/name` at the service itself. */
  "repository",
  /** A filter of jq's language. */
  "filter",
  /** The end of the names under which copies of what was there are kept. */
  "backup",
  /** Taken out of its wrapping: read, gone, and there under its name without the last ending. */
  "unpack",
  /** Permissions to set. */
  "mode",
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
  /** A path, or several in braces and brackets. */
  "globbed",
  /** `revision`, `revision:path`, `:path`, a path or a glob of paths, of what git keeps. */
  "tracked",
  /** A path or a glob of paths that git is to keep. */
  "staged",
  /** A path that git brings back over what is there, or a revision. */
  "restore",
  /** A folder in which files change that git keeps. */
  "update",
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

/** Names of options; an item may hold several, separated by blanks. */
const Names = z.array(z.string()).transform((items) => items.flatMap((item) => item.split(" ")));

/** What the values of options are; a key may hold several names, separated by blanks. */
const Roles = z
  .record(z.string(), Role)
  .transform((roles) =>
    Object.fromEntries(
      Object.entries(roles).flatMap(([names, role]) => names.split(" ").map((name) => [name, role] as const)),
    ),
  );

const Shape = z.strictObject({
  /** Takes any option at all. Only for what is opaque: of every other program each option is known, or it is opaque. */
  any: z.boolean().optional(),
  /** Takes no options: each of its words is an operand, dash or not. */
  plain: z.boolean().optional(),
  /** Letters of options without a value. */
  flags: z.string().optional(),
  long: Names.optional(),
  /** Options that are written out behind one dash: `-check`. */
  single: Names.optional(),
  /** Whether `-5` is an option. */
  digits: z.boolean().optional(),
  /** Options with a value. */
  values: Roles.optional(),
  /** Options that have a value only if it is attached. */
  attached: Roles.optional(),
  /** Options that make the program opaque. */
  never: Names.optional(),
  /** Groups of options that several programs share. */
  uses: Names.optional(),
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
  /** The word that stands for the second operand where there is none. */
  implied: z.string().optional(),
  /** Whether it prints without end. */
  endless: z.boolean().optional(),
  /** Whether git runs the repository's hooks for it. */
  hooks: z.boolean().optional(),
  /** Whether it shows the content of all that git keeps, where no path is given. */
  shows: z.boolean().optional(),
  /** The service that it asks for what it shows, and nothing else. */
  service: z.string().optional(),
  /** Whether it connects to hosts that its words do not name. */
  net: z.boolean().optional(),
  /** Why the words do not show what it does. */
  opaque: z.string().optional(),
  /** Why its effects are not all it does, in words. */
  doubt: z.string().optional(),
});

const Leaf = Shape.extend({
  /** How the entry differs when one of these options is there. */
  when: z.array(Shape.extend({ options: z.array(z.string()) })).optional(),
  /** Argument lists that are no more than a question about the program itself. */
  questions: z.array(z.array(z.string())).optional(),
  /** Files of the folder, or of one above it, that choose what runs in the program's place, even for a question. */
  obeys: z.array(z.string()).optional(),
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
  /** Options that several programs share, by the name that `uses` calls them. */
  groups: z.record(
    z.string(),
    Shape.pick({ flags: true, long: true, values: true, attached: true, never: true }),
  ),
  programs: z.record(z.string(), Program),
});

/** The table is large: it is read at the first lookup of a program. */
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

/** Every program of the table by name, its subcommands behind a blank: `git diff`. */
export function knownPrograms(): ReadonlyMap<string, Program> {
  known ??= readTable();
  return known.programs;
}

function readTable() {
  const { programs, folders, groups } = tableFile("programs.json", ProgramTable);
  const named = Object.entries(programs).flatMap(([names, entry]) => {
    const subcommands = Object.entries(entry.subcommands ?? {}).map(
      ([name, leaf]) => [name, withGroups(leaf, groups)] as const,
    );
    const whole = {
      ...withGroups(entry, groups),
      ...(entry.subcommands && { subcommands: Object.fromEntries(subcommands) }),
    };
    return names.split(" ").map((name) => [name, whole] as const);
  });
  return { programs: new Map(named), folders: new Set(folders) };
}

type Groups = z.infer<typeof ProgramTable>["groups"];

/** An entry with the options of the groups that it uses. */
function withGroups<T extends z.infer<typeof Leaf>>(entry: T, groups: Groups): T {
  let whole = entry;
  for (const name of entry.uses ?? []) {
    const group = groups[name];
    if (!group) throw new Error(`programs.json uses the group ${name}, which it does not have`);
    whole = {
      ...whole,
      flags: (whole.flags ?? "") + (group.flags ?? ""),
      long: [...(whole.long ?? []), ...(group.long ?? [])],
      values: { ...without(group.values, entry.long), ...whole.values },
      attached: { ...without(group.attached, entry.long), ...whole.attached },
      never: [...(whole.never ?? []), ...(group.never ?? [])],
    };
  }
  return whole;
}

/** What an entry says of an option by itself counts more than what its groups say. */
function without(roles: Readonly<Record<string, Role>> = {}, own: readonly string[] = []) {
  return Object.fromEntries(Object.entries(roles).filter(([name]) => !own.includes(name)));
}
