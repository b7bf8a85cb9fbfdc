import { posix } from "node:path";
import type { Place } from "../../action.ts";
import type { FactsContext } from "../gather.ts";
import {
  fold,
  holdsProcesses,
  isCredentials,
  isPersistence,
  isProcessContent,
  isUserHome,
  TEMPORARY,
} from "./place-table.ts";
import { PathResolver } from "./resolve.ts";

/** More than any session makes there; then it begins anew. */
const MADE_LIMIT = 10_000;

/** How a path is touched, as far as that decides where it counts as lying. */
export interface Touch {
  readonly writes: boolean;
  /** Whether everything below it is touched too. */
  readonly deep: boolean;
}

/** The folders of a session, followed to where they really lie, and which place a path is in. */
export class Places {
  readonly roots: readonly string[];
  readonly #harness: readonly string[];
  readonly #home: readonly string[];
  readonly #temporary: readonly string[];
  readonly #shared: readonly string[];
  /** What the session made in shared folders. */
  readonly #made = new Set<string>();

  private constructor(
    folders: Record<"roots" | "harness" | "home" | "temporary" | "shared", readonly string[]>,
  ) {
    this.roots = folders.roots;
    this.#harness = folders.harness.map(fold);
    this.#home = folders.home;
    this.#temporary = folders.temporary;
    this.#shared = folders.shared;
  }

  /** Both spellings of each guarded folder count, but of a root only where it really lies. */
  static async of(context: FactsContext): Promise<Places> {
    const resolver = new PathResolver(context.files);
    const real = async (path: string): Promise<string> => (await resolver.resolve(path)).path;
    const shared = await Promise.all(TEMPORARY.map(real));
    const temporary = await Promise.all((context.temporary ?? environmentFolder(context)).map(real));
    return new Places({
      // A folder that was put in the place of a root since is not the one that the session was let into.
      roots: context.realRoots ?? (await Promise.all(context.roots.map(real))),
      harness: [context.harness, await real(context.harness)],
      home: [context.home, await real(context.home)],
      // A session whose folder for passing files is everybody's has none of its own.
      temporary: temporary.filter((folder) => !shared.includes(folder)),
      shared,
    });
  }

  /** @param path followed to its end */
  placeOf(path: string, touch: Touch): Place {
    if (this.#isHarness(path, touch.deep)) return "harness";
    if (isCredentials(path) || isProcessContent(path)) return "credentials";
    if (touch.deep && holdsProcesses(path)) return "credentials";
    if (touch.deep && this.#home.some((home) => isWithin(home, path))) return "credentials";
    if (touch.writes && isPersistence(path)) return "persistence";
    if (this.roots.some((root) => isWithin(path, root))) return "workspace";
    const temporary = longest(this.#temporary, path);
    const home = longest(this.#home, path);
    const shared = longest(this.#shared, path);
    if (temporary > home && temporary > shared) return "temporary";
    if (shared > home) return this.#isMade(path) ? "temporary" : "shared";
    return home > 0 || isUserHome(path) ? "home" : "system";
  }

  /** Whether a folder is one of those that everybody passes files in. */
  isShared(path: string): boolean {
    return this.#shared.includes(path);
  }

  /** Notes what the session makes where nothing was: it is its own from then on. */
  noteMade(path: string): void {
    if (this.#made.size >= MADE_LIMIT) this.#made.clear();
    this.#made.add(path);
  }

  #isMade(path: string): boolean {
    for (let here = path; ; here = posix.dirname(here)) {
      if (this.#made.has(here)) return true;
      if (here === posix.dirname(here)) return false;
    }
  }

  /** @returns the session's roots and homes that lie below a path; what lies above the harness counts as the harness */
  foldersBelow(path: string): readonly string[] {
    return [...new Set([...this.roots, ...this.#home])].filter(
      (folder) => folder !== path && isWithin(folder, path),
    );
  }

  /** @returns the path from the innermost root that holds it; `undefined` outside of all roots */
  insideOf(path: string): string | undefined {
    const holding = this.roots.filter((root) => isWithin(path, root));
    if (holding.length === 0) return undefined;
    return path.slice(Math.max(...holding.map((root) => root.length))).replace(/^\//, "");
  }

  /** An agent's private home and its temporary folder may lie inside the harness's folder; that part is the agent's. */
  #isHarness(path: string, deep: boolean): boolean {
    const folded = fold(path);
    const inside = this.#harness.some((harness) => isWithin(folded, harness));
    if (!inside) return deep && this.#harness.some((harness) => isWithin(harness, folded));
    const agents = [...this.#home, ...this.#temporary];
    return !agents.some((folder) => isWithin(path, folder) && this.#holds(folder));
  }

  #holds(folder: string): boolean {
    return this.#harness.some((harness) => isWithin(fold(folder), harness));
  }
}

/** Whether a path is a folder, or lies in it. Both tidy. */
export function isWithin(path: string, folder: string): boolean {
  if (!path.startsWith(folder)) return false;
  return path.length === folder.length || folder.endsWith("/") || path[folder.length] === "/";
}

function longest(folders: readonly string[], path: string): number {
  return Math.max(0, ...folders.filter((folder) => isWithin(path, folder)).map((folder) => folder.length));
}

function environmentFolder(context: FactsContext): readonly string[] {
  const folder = context.environment?.TMPDIR;
  return folder?.startsWith("/") ? [folder] : [];
}
