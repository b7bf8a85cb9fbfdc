import { posix } from "node:path";
import { nameGlob } from "../glob.ts";
import type { ReadWords } from "./shell/programs/words.ts";

/** Which of the files below a folder a program reads. */
export interface FileFilter {
  /** Whether those whose names begin with a dot are among them. */
  readonly hidden: boolean;
  /** Whether files are read that git ignores. */
  readonly ignored: boolean;
  /** Globs of names: where there are some, only files of these are. */
  readonly only?: readonly string[];
  /** Globs of names of files that are not, unless the others name them too. */
  readonly notFiles?: readonly string[];
  /** Globs of names of folders that are not gone into. */
  readonly notFolders?: readonly string[];
}

/** All there is. */
export const ALL_FILES: FileFilter = { hidden: true, ignored: true };

/** Whether a file of a name is read. */
export function includesFile({ hidden, only, notFiles = [] }: FileFilter, name: string): boolean {
  if (only !== undefined && only.length > 0) return only.some((glob) => fits(glob, name, true));
  if (!hidden && name.startsWith(".")) return false;
  return !notFiles.some((glob) => fits(glob, name, false));
}

/** Whether a folder of a name is gone into. */
export function entersFolder({ hidden, notFolders = [] }: FileFilter, name: string): boolean {
  return (hidden || !name.startsWith(".")) && !notFolders.some((glob) => fits(glob, name, false));
}

/** @param otherwise the answer where the glob cannot be read */
function fits(glob: string, name: string, otherwise: boolean): boolean {
  return nameGlob(glob, { matchesDots: true })?.(name) ?? otherwise;
}

const GREP: ReadonlySet<string> = new Set(["grep", "egrep", "fgrep", "pcregrep"]);
/** Options of rg with which it reads what it passes by otherwise. */
const UNRESTRICTED = ["u", "unrestricted", "type-add"];
const WITH_HIDDEN = ["hidden", "."];
const WITH_IGNORED = ["no-ignore", "no-ignore-vcs", "no-ignore-parent", "no-ignore-files", "ignore-file"];

/** Which of the files below its operands a program reads, by its options; `undefined` where it reads only names. */
export function fileFilterOf(name: string, read: ReadWords): FileFilter | undefined {
  if (name === "rg") return ripgrep(read);
  if (name.startsWith("git ")) return git(name, read);
  if (name === "gofmt") return { ...ALL_FILES, only: ["*.go"] };
  // A name that is only known at run time leaves nothing out for certain.
  if (read.options.some(({ value }) => value.text === null)) return ALL_FILES;
  const excluded = excluding(values(read, ["exclude"]));
  if (!GREP.has(name)) return { ...ALL_FILES, ...excluded };
  const only = values(read, ["include"]).map((glob) => posix.basename(glob));
  const { notFolders } = excluding(values(read, ["exclude-dir"]));
  // Of options that contradict each other, the order decides; here whatever may be read counts.
  return { ...ALL_FILES, only, notFolders, ...(only.length === 0 && { notFiles: excluded.notFiles }) };
}

/** What git is to keep it reads first, but for what it ignores. What it keeps it shows by name. */
function git(name: string, { present }: ReadWords): FileFilter | undefined {
  if (present.has("no-index")) return ALL_FILES;
  if (name === "git grep" && present.has("untracked"))
    return { hidden: true, ignored: present.has("no-exclude-standard") };
  if (name !== "git add" && name !== "git stash") return undefined;
  const forced = ["f", "force", "a", "all"].some(
    (option) => present.has(option) && !(name === "git add" && option === "all"),
  );
  return { hidden: true, ignored: forced };
}

/** rg skips hidden and ignored files unless options say otherwise; it reads what a glob names in any case. */
function ripgrep(read: ReadWords): FileFilter | undefined {
  const has = (names: readonly string[]): boolean => names.some((name) => read.present.has(name));
  if (has(["files", "type-list"])) return undefined;
  if (has(UNRESTRICTED) || read.options.some(({ value }) => value.text === null)) return ALL_FILES;
  const globs = values(read, ["g", "glob"]);
  const types = values(read, ["t", "type"]).flatMap(endingsOf);
  const named = globs.filter((glob) => !glob.startsWith("!"));
  // Letters of either case, and braces, match more names than are looked for here.
  if (has(["iglob", "glob-case-insensitive"]) || named.some((glob) => glob.includes("{"))) return ALL_FILES;
  return {
    hidden: has(WITH_HIDDEN),
    ignored: has(WITH_IGNORED),
    only: [...named.map((glob) => (glob.endsWith("/") ? "*" : posix.basename(glob))), ...types],
    ...excluding(globs.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1))),
  };
}

/** The names of a type of rg; some types are of many names, dotfiles among them. */
function endingsOf(type: string): readonly string[] {
  if (/^(?:all|config|sh)$/.test(type)) return ["*"];
  return type === "yaml" ? ["*.yaml", "*.yml"] : [`*.${type}`];
}

function values({ options }: ReadWords, names: readonly string[]): readonly string[] {
  return options.flatMap(({ name, value }) =>
    names.includes(name) && value.text !== null ? [value.text] : [],
  );
}

/**
 * What globs leave out. One of paths leaves out no other file of its name, and one with a slash at its end no file.
 */
function excluding(globs: readonly string[]) {
  const anywhere = globs.map((glob) => glob.replace(/^\*\*\//, ""));
  return {
    notFiles: anywhere.filter((glob) => !glob.includes("/")),
    notFolders: anywhere.map((glob) => glob.replace(/\/$/, "")).filter((glob) => !glob.includes("/")),
  };
}
