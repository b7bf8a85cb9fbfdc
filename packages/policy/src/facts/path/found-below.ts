import { posix } from "node:path";
import type { FilePort } from "../files.ts";
import { shellGlob } from "./shell-glob.ts";

/** More names than this are not gone through. */
const NAME_LIMIT = 10_000;
/** More links than this are as good as any. */
const LINK_LIMIT = 16;

/** What a program searches for below a folder. */
export interface Search {
  /** Globs of names, of which one has to fit; everything without them. */
  readonly names?: readonly string[] | undefined;
  /** Whether the paths are put together to one text and taken apart at its blanks. */
  readonly splits: boolean;
}

/**
 * The links among what is found, which may lead anywhere. `undefined` when there is too much to look at, or when a
 * path is not the one word that it is found as.
 */
export async function linksFound(
  files: FilePort,
  folder: string,
  { names, splits }: Search,
): Promise<readonly string[] | undefined> {
  const globs = names?.map((name) => shellGlob(name.toLowerCase(), { matchesDots: true }));
  const fits = (name: string): boolean => globs?.some((glob) => glob?.(name.toLowerCase()) ?? true) ?? true;
  if (splits && /[\s'"\\]/.test(folder)) return undefined;
  const links: string[] = [];
  const folders = [folder];
  let seen = 0;
  // The list grows while it is gone through.
  for (const here of folders) {
    const kind = await files.lstat(here);
    if (kind !== "folder") continue;
    const entries = await files.list(here, NAME_LIMIT);
    seen += entries?.length ?? NAME_LIMIT;
    if (entries === undefined || seen > NAME_LIMIT || links.length > LINK_LIMIT) return undefined;
    for (const { name, isFolder, isLink } of entries) {
      if (splits && /[\s'"\\]/.test(name)) return undefined;
      if (isFolder) folders.push(posix.join(here, name));
      else if (isLink && fits(name)) links.push(posix.join(here, name));
    }
  }
  return links;
}
