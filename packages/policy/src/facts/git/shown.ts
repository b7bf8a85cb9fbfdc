import { posix } from "node:path";
import { nameGlob } from "../../glob.ts";
import type { FilePort } from "../files.ts";
import { isCredentials } from "../path/places.ts";
import { Unclear } from "./object-store.ts";
import { isUnchanged } from "./recoverable.ts";
import { type GitIndex, gitIndexAround } from "./repository.ts";
import { Revisions } from "./revisions.ts";

/** What a command of git shows of what it keeps. */
export interface Shown {
  /**
   * `commits`: what some changed. `walk`: what they and those before them did. `between`: how two differ, or one and the
   * work tree. `tree`: all there was. `stash`: what was put away. `log`: what names stood for.
   */
  readonly how: "commits" | "walk" | "between" | "tree" | "stash" | "log";
  /** Revisions, ranges of them, and paths, as they are written. */
  readonly words: readonly string[];
  /** How many commits are shown at most, if that is known. */
  readonly most?: number | undefined;
  /** Whether every branch is gone through. */
  readonly all?: boolean | undefined;
  /** Whether one side is what is to be committed. */
  readonly cached?: boolean | undefined;
  /** Whether nothing of the past is shown unless a revision is named. */
  readonly onlyNamed?: boolean | undefined;
}

/** Files with keys among what is shown; `unclear` says why there may be more. */
export interface ShownCredentials {
  readonly root: string;
  readonly paths: readonly string[];
  readonly unclear?: string | undefined;
}

/** One says as much as many. */
const MOST_REPORTED = 3;
const MOST_DEPTH = 64;
const MOST_LOGGED = 200;
const MOST_LEFT_OUT = 500;

/** Stands for a file that a word names by its path. */
const NAMED = "named";

type Fits = (path: string) => boolean;

/** Looks through what git keeps for files with keys that a command, run in a folder, shows. */
export async function shownCredentials(
  files: FilePort,
  folder: string,
  shown: Shown,
): Promise<ShownCredentials | undefined> {
  const found = new Set<string>();
  let root = folder;
  try {
    const revisions = await Revisions.around(files, folder);
    if (revisions === undefined) return undefined;
    const index = await gitIndexAround(files, posix.join(folder, "any"));
    root = index?.root ?? folder;
    await new Search({ files, folder, revisions, index, found }).look(shown);
    return { root, paths: [...found].slice(0, MOST_REPORTED) };
  } catch (error) {
    const unclear =
      error instanceof Unclear ? error.message : "the history of the repository could not be read";
    return { root, paths: [...found].slice(0, MOST_REPORTED), unclear };
  }
}

interface Setting {
  readonly files: FilePort;
  readonly folder: string;
  readonly revisions: Revisions;
  readonly index: GitIndex | undefined;
  readonly found: Set<string>;
}

class Search {
  readonly #in: Setting;

  constructor(setting: Setting) {
    this.#in = setting;
  }

  async look(shown: Shown): Promise<void> {
    const { revisions } = this.#in;
    if (shown.how === "log") return this.#logged(shown.words);
    const { starts, ends, paths, isRange, apart } = await this.#sorted(shown.words);
    const fits = this.#fits(paths);
    if (fits === undefined) {
      for (const one of starts) if ((await revisions.commit(one)) === undefined) await this.#object(one);
      return;
    }
    if (shown.onlyNamed && starts.length === 0) return;
    if (shown.how === "stash") return this.#stashed(starts, fits);
    if (shown.how === "between" && apart) return this.#walk(apart.to, apart.from, undefined, fits);
    if (shown.how === "between") return this.#between([...ends, ...starts], shown, fits);
    const head = compact([await revisions.resolve("HEAD")]);
    const from = shown.all ? await revisions.all() : starts.length > 0 || isRange ? starts : head;
    if (shown.how === "walk" || isRange) return this.#walk(from, ends, shown.most, fits);
    for (const one of from) {
      if (shown.how === "commits") await this.#commit(one, fits);
      else await this.#tree((await this.#treeOf(one)) ?? one, "", fits, 0);
    }
  }

  /** Which words are revisions, which leave some out, and which are paths. */
  async #sorted(words: readonly string[]) {
    const [starts, ends, paths]: [string[], string[], string[]] = [[], [], []];
    let apart: { readonly from: readonly string[]; readonly to: readonly string[] } | undefined;
    let isRange = false;
    for (const word of words) {
      const [, left = "", dots, right = ""] = /^(.*?)(\.\.\.?)(.*)$/s.exec(word) ?? [];
      if (dots !== undefined) {
        const [one, other] = [await this.#named(left || "HEAD"), await this.#named(right || "HEAD")];
        if (one === undefined || other === undefined) {
          paths.push(word);
          continue;
        }
        isRange = true;
        starts.push(other);
        (dots === "..." ? starts : ends).push(one);
        if (dots === "...") apart = { from: [one], to: [other] };
        continue;
      }
      const found = await this.#named(word.replace(/^\^/, ""));
      isRange ||= found !== undefined && word.startsWith("^");
      if (found === undefined) paths.push(word);
      else (word.startsWith("^") ? ends : starts).push(found);
    }
    // What is shown of a file by its name is looked at by its name.
    const known = (one: string): boolean => one !== NAMED;
    return {
      starts: starts.filter(known),
      ends: ends.filter(known),
      paths: paths.filter((path) => path !== ""),
      isRange,
      apart,
    };
  }

  /** The object behind a word; `NAMED` for a file of a commit, `undefined` for a path. */
  async #named(word: string): Promise<string | undefined> {
    const { revisions, index, folder } = this.#in;
    if (word === ":/" || /^:(?!\/)/.test(word)) return undefined;
    const [, revision, inside = ""] = /^([^:]+):([\s\S]*)$/.exec(word) ?? [];
    if (revision === undefined) return revisions.resolve(word);
    const hash = await revisions.resolve(revision);
    const tree = hash && (await this.#treeOf(hash));
    if (tree === undefined || tree === "") return NAMED;
    const root = index?.root ?? folder;
    const path = /^\.{1,2}(?:\/|$)/.test(inside)
      ? posix.relative(root, posix.resolve(folder, inside))
      : inside;
    const entry = path === "" ? tree : await this.#entryAt(tree, path.replace(/\/+$/, ""));
    return entry !== undefined && (await revisions.objects.read(entry))?.type === "tree" ? entry : NAMED;
  }

  /** Whether a file is one of those that the paths name; `undefined` where they name plain files, which are looked at. */
  #fits(paths: readonly string[]): Fits | undefined {
    const { index, folder } = this.#in;
    const root = index?.root ?? folder;
    const tests = paths
      .filter((path) => !/^:(?:\([^)]*exclude|[!^])/.test(path))
      .map((path): Fits | undefined => {
        const [, magic = "", plain = ""] = /^(:(?:\([^)]*\)|\/)?)?([\s\S]*)$/.exec(path) ?? [];
        const inside = posix.relative(root, posix.resolve(/\/|top/.test(magic) ? root : folder, plain));
        if (/[*?[]/.test(plain))
          return (name) =>
            nameGlob(posix.basename(plain), { matchesDots: true })?.(posix.basename(name)) ?? true;
        if (index?.files.has(inside)) return undefined;
        return (name) => inside === "" || name === inside || name.startsWith(`${inside}/`);
      });
    if (tests.length === 0) return () => true;
    const kept = tests.filter((test) => test !== undefined);
    return kept.length === 0 ? undefined : (name) => kept.some((test) => test(name));
  }

  /** The file's name counts, unless the content is shown by its hash. */
  async #commit(hash: string, fits: Fits): Promise<boolean> {
    const { revisions } = this.#in;
    const commit = await revisions.commit(hash);
    if (commit === undefined) return this.#object(hash);
    const parents = await Promise.all(commit.parents.map((parent) => this.#treeOf(parent)));
    let touched = false;
    for (const parent of parents.length === 0 ? [undefined] : parents)
      touched = (await this.#differ(parent, commit.tree, "", fits, 0)) || touched;
    return touched;
  }

  async #object(hash: string): Promise<boolean> {
    const { index, revisions } = this.#in;
    const found = await revisions.objects.read(hash);
    const names = [...(index?.files ?? [])].filter(([, file]) => file.hash === hash).map(([name]) => name);
    if (found?.type === "blob" && names.length === 0)
      throw new Unclear(`git's object ${hash.slice(0, 12)} is the content of a file that is not known`);
    for (const name of names) this.#note(name, () => true);
    return false;
  }

  async #walk(
    from: readonly string[],
    ends: readonly string[],
    most: number | undefined,
    fits: Fits,
  ): Promise<void> {
    const { revisions } = this.#in;
    const seen = new Set(ends);
    for (const end of seen) {
      if (seen.size > MOST_LEFT_OUT) break;
      for (const parent of (await revisions.commit(end))?.parents ?? []) seen.add(parent);
    }
    const left = [...from];
    let count = 0;
    for (const at of left) {
      if (seen.has(at)) continue;
      seen.add(at);
      if (await this.#commit(at, fits)) count += 1;
      if (count >= (most ?? Number.POSITIVE_INFINITY)) return;
      left.push(...((await revisions.commit(at))?.parents ?? []));
    }
  }

  async #between(sides: readonly string[], shown: Shown, fits: Fits): Promise<void> {
    const { revisions, index, files } = this.#in;
    for (const side of sides) if ((await revisions.commit(side)) === undefined) await this.#object(side);
    const head = await revisions.resolve("HEAD");
    const [one, other = head] = sides.length === 0 ? [head] : sides;
    const [left, right] = [one && (await this.#treeOf(one)), other && (await this.#treeOf(other))];
    if (left !== right) await this.#differ(left, right, "", fits, 0);
    if (sides.length > 1) return;
    for (const [name, file] of index?.files ?? []) {
      if (!isCredentials(`/${name}`) || !fits(name)) continue;
      const path = posix.join(index?.root ?? "", name);
      const isSame = !shown.cached && index !== undefined && (await isUnchanged(files, index, path));
      const kept = right === undefined ? undefined : await this.#entryAt(right, name);
      if (shown.cached || sides.length > 0 ? kept !== file.hash || (!shown.cached && !isSame) : !isSame)
        this.#note(name, fits);
    }
    if (right !== undefined && (shown.cached || sides.length > 0)) await this.#gone(right, fits);
  }

  /** Files that the last commit has and the next one will not. Reports none where there are too many to check. */
  async #gone(tree: string, fits: Fits): Promise<void> {
    const { index } = this.#in;
    await this.#tree(tree, "", (name) => fits(name) && !index?.files.has(name), 0).catch((error: unknown) => {
      if (!(error instanceof Unclear)) throw error;
    });
  }

  async #stashed(starts: readonly string[], fits: Fits): Promise<void> {
    const { revisions } = this.#in;
    for (const one of starts.length > 0 ? starts : compact([await revisions.resolve("refs/stash")])) {
      await this.#commit(one, fits);
      // What git did not keep is put away in a commit of its own.
      const [, , untracked] = (await revisions.commit(one))?.parents ?? [];
      if (untracked !== undefined) await this.#commit(untracked, fits);
    }
  }

  async #logged(names: readonly string[]): Promise<void> {
    const { revisions } = this.#in;
    for (const name of names.length === 0 ? ["HEAD"] : names) {
      const hashes = new Set(await revisions.log(name));
      if (hashes.size > MOST_LOGGED) throw new Unclear("the log of a branch is very long");
      for (const hash of hashes) await this.#commit(hash, () => true);
    }
  }

  async #treeOf(hash: string): Promise<string | undefined> {
    const { revisions } = this.#in;
    const commit = await revisions.commit(hash);
    if (commit) return commit.tree;
    return (await revisions.objects.read(hash))?.type === "tree" ? hash : undefined;
  }

  /** Notes what is different in two trees, and returns whether anything is. */
  async #differ(
    left: string | undefined,
    right: string | undefined,
    at: string,
    fits: Fits,
    depth: number,
  ): Promise<boolean> {
    if (left === right) return false;
    if (depth > MOST_DEPTH) throw new Unclear("the folders of a commit are nested too deep");
    const [before, after] = await Promise.all([this.#entries(left), this.#entries(right)]);
    let touched = false;
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const [one, other] = [before.get(name), after.get(name)];
      if (one?.hash === other?.hash && one?.isTree === other?.isTree) continue;
      const path = at + name;
      for (const entry of [one, other])
        if (entry && !entry.isTree) touched = this.#note(path, fits) || touched;
      const [below, over] = [one?.isTree ? one.hash : undefined, other?.isTree ? other.hash : undefined];
      if (below !== undefined || over !== undefined)
        touched = (await this.#differ(below, over, `${path}/`, fits, depth + 1)) || touched;
    }
    return touched;
  }

  async #tree(tree: string, at: string, fits: Fits, depth: number): Promise<void> {
    if (depth > MOST_DEPTH) throw new Unclear("the folders of a commit are nested too deep");
    for (const [name, { hash, isTree }] of await this.#entries(tree))
      if (isTree) await this.#tree(hash, `${at}${name}/`, fits, depth + 1);
      else this.#note(at + name, fits);
  }

  async #entryAt(tree: string, path: string): Promise<string | undefined> {
    let at: string | undefined = tree;
    for (const name of path.split("/"))
      at = at === undefined ? undefined : (await this.#entries(at)).get(name)?.hash;
    return at;
  }

  async #entries(tree: string | undefined): Promise<ReadonlyMap<string, { hash: string; isTree: boolean }>> {
    const entries = new Map<string, { hash: string; isTree: boolean }>();
    if (tree === undefined) return entries;
    const found = await this.#in.revisions.objects.read(tree);
    if (found === undefined) throw new Unclear("a part of the history is not there");
    if (found.type !== "tree") return entries;
    const bytes = Buffer.from(found.bytes);
    for (let from = 0; from < bytes.length; ) {
      const [space, end] = [bytes.indexOf(32, from), bytes.indexOf(0, from)];
      if (space < 0 || end < 0 || end + 21 > bytes.length)
        throw new Unclear("a folder of a commit is damaged");
      const isTree = bytes.toString("latin1", from, space) === "40000";
      const hash = bytes.toString("hex", end + 1, end + 21);
      entries.set(bytes.toString("utf8", space + 1, end), { hash, isTree });
      from = end + 21;
    }
    return entries;
  }

  #note(name: string, fits: Fits): boolean {
    if (!fits(name)) return false;
    if (isCredentials(`/${name}`)) this.#in.found.add(name);
    return true;
  }
}

function compact<T>(values: readonly (T | undefined)[]): readonly T[] {
  return values.filter((value) => value !== undefined);
}
