import { shellGlob } from "./path/shell-glob.ts";

/** Which of the files below a folder a program reads. */
export interface Sight {
  /** Whether those whose names begin with a dot are among them. */
  readonly hidden: boolean;
  /** Whether files are read that git ignores. */
  readonly ignored: boolean;
  /** Globs of names: where there are some, only files of these are. */
  readonly only?: readonly string[];
  /** Globs of names: files and folders of these are not, unless the others name them too. */
  readonly not?: readonly string[];
}

/** All there is. */
export const EVERYTHING: Sight = { hidden: true, ignored: true };

/** Whether a file of a name is read. */
export function seesFile({ hidden, only, not = [] }: Sight, name: string): boolean {
  if (only !== undefined && only.length > 0) return only.some((glob) => fits(glob, name, true));
  if (!hidden && name.startsWith(".")) return false;
  return !not.some((glob) => fits(glob, name, false));
}

/** Whether a folder of a name is gone into. */
export function entersFolder({ hidden, not = [] }: Sight, name: string): boolean {
  return (hidden || !name.startsWith(".")) && !not.some((glob) => fits(glob, name, false));
}

/** @param otherwise the answer where the glob cannot be read */
function fits(glob: string, name: string, otherwise: boolean): boolean {
  return shellGlob(glob, { matchesDots: true })?.(name) ?? otherwise;
}
