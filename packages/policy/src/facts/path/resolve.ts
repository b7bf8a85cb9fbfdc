import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import type { FilePort } from "../files.ts";

/** A path as a tool's argument gives it, made absolute but not yet followed; or why that is not possible. */
export type GivenPath = { readonly absolute: string } | { readonly doubt: string };

const COMPUTED = /\$\{|\$\(|\$[A-Z_]{2,}|`|%[A-Za-z_]+%/;

/**
 * Tools differ in what they make of `~`, of `file:` and of variables. What is read into them here is what reaches
 * furthest; what may be read in two ways is a doubt.
 */
export function givenPath(text: string, cwd: string, home: string): GivenPath {
  if (text.includes("\0")) return { doubt: "a path with a NUL character" };
  if (text.includes("\\")) return { doubt: "a path with a backslash" };
  if (COMPUTED.test(text)) return { doubt: "a path that may be computed from variables" };
  if (/^file:/i.test(text)) return fromUrl(text);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return { doubt: "an address in place of a path" };
  if (text === "~" || text.startsWith("~/")) return { absolute: home + text.slice(1) };
  if (/^~[^/]*(?:\/|$)/.test(text)) return { doubt: "a path in another user's home" };
  return { absolute: text.startsWith("/") ? text : `${cwd}/${text}` };
}

function fromUrl(text: string): GivenPath {
  try {
    return { absolute: fileURLToPath(text) };
  } catch {
    return { doubt: "a file: address that names no file of this machine" };
  }
}

/** Where a path leads. */
export interface ResolvedPath {
  /** Symlinks and `..` followed, as the file system spells it; only tidied where that failed. */
  readonly path: string;
  readonly exists: boolean;
  /** Why it could not be found out; absent when it was. */
  readonly doubt?: string;
}

/** More symlinks than the kernel itself follows. */
const LINK_LIMIT = 40;

/** More parts than any honest path has; one that is not there is looked for part by part. */
const PART_LIMIT = 256;

/** Paths the kernel answers differently for each process: what they are for us, they are not for the agent. */
const MAGIC =
  /^\/(?:proc\/(?:self|thread-self|\d+)\/(?:root|cwd|fd|exe|map_files|task|ns)(?:\/|$)|dev\/fd(?:\/|$))/;

/** Follows paths on a file system, each at most once. A path that does not exist is followed as far as it does. */
export class PathResolver {
  readonly #files: FilePort;
  readonly #known = new Map<string, Promise<ResolvedPath>>();

  constructor(files: FilePort) {
    this.#files = files;
  }

  /** @param path absolute; may hold `.`, `..` and anything else */
  resolve(path: string): Promise<ResolvedPath> {
    let known = this.#known.get(path);
    if (known === undefined) {
      known = this.#resolve(path, 0);
      this.#known.set(path, known);
    }
    return known;
  }

  async #resolve(path: string, links: number): Promise<ResolvedPath> {
    const tidy = tidied(path);
    if (path.includes("\0")) return { path: tidy, exists: false, doubt: "a path with a NUL character" };
    if (path.split("/", PART_LIMIT + 1).length > PART_LIMIT)
      return { path: tidy, exists: true, doubt: "a path with too many parts to be followed" };
    if (MAGIC.test(path) || MAGIC.test(tidy)) {
      return { path: tidy, exists: true, doubt: `${tidy} is another file for every process` };
    }
    if (links > LINK_LIMIT) return { path: tidy, exists: true, doubt: `${tidy} is a loop of symlinks` };
    try {
      const real = await this.#files.realpath(path);
      if (real === undefined) return await this.#missing(path, links);
      if (real !== tidy && (await this.#passesMagic(path))) {
        return { path: real, exists: true, doubt: `${tidy} is another file for every process` };
      }
      return { path: real, exists: true };
    } catch (error) {
      const reason = error instanceof Error && "code" in error ? String(error.code) : "unknown";
      return { path: tidy, exists: true, doubt: `${tidy} could not be followed (${reason})` };
    }
  }

  /** Nothing is there: either the last part is a symlink to nothing, or some part does not exist yet. */
  async #missing(path: string, links: number): Promise<ResolvedPath> {
    const trimmed = path.replace(/\/+$/, "") || "/";
    if (trimmed === "/") return { path: "/", exists: true };
    const name = posix.basename(trimmed);
    const parentPath = posix.dirname(trimmed);
    if (name !== ".." && name !== "." && (await this.#files.lstat(trimmed)) === "link") {
      const target = (await this.#files.readlink(trimmed)) ?? "";
      return this.#resolve(target.startsWith("/") ? target : `${parentPath}/${target}`, links + 1);
    }
    const parent = await this.#resolve(parentPath, links);
    const found = posix.join(parent.path, name);
    // Behind a part that is not there yet, `..` may lead back to something that is, and that may be a link.
    if (parent.doubt === undefined && found !== trimmed) return this.#resolve(found, links + 1);
    return { ...parent, path: found, exists: false };
  }

  /** Whether a symlink on the way leads through a path of the kernel that depends on who asks. */
  async #passesMagic(path: string): Promise<boolean> {
    const pending = path.split("/").reverse();
    let here = "/";
    for (let links = 0; pending.length > 0; ) {
      const part = pending.pop();
      if (!part || part === ".") continue;
      const next = posix.join(here, part);
      if (MAGIC.test(next)) return true;
      const isLink = part !== ".." && (await this.#files.lstat(next)) === "link";
      if (!isLink) {
        here = next;
        continue;
      }
      links += 1;
      if (links > LINK_LIMIT) return true;
      const target = (await this.#files.readlink(next)) ?? "";
      if (target.startsWith("/")) here = "/";
      pending.push(...target.split("/").reverse());
    }
    return false;
  }
}

function tidied(path: string): string {
  const tidy = posix.normalize(path);
  return tidy.length > 1 && tidy.endsWith("/") ? tidy.slice(0, -1) : tidy;
}
