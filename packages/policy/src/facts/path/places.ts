import { posix } from "node:path";
import picomatch from "picomatch";
import { z } from "zod";
import type { Place } from "../../action.ts";
import { type FilePort, tableFile } from "../files.ts";
import type { FactsContext } from "../gather.ts";
import { PathResolver } from "./resolve.ts";

const PLAIN = /^[\x21-\x7e]*$/;
const LOOSE_END = /(?<![. ])[. ]+(?=\/|$)/g;

/**
 * One spelling for all the spellings that some file system takes for the same path: case, composed and decomposed
 * letters, characters that do not show, dots and spaces at the end of a name, data streams. Only for finding what is
 * guarded, never for finding what is allowed.
 */
export function fold(path: string): string {
  const composed = PLAIN.test(path)
    ? path
    : path.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const folded = composed.toLowerCase().replace(/:[^/]*(?=\/|$)/g, "");
  return folded.replace(LOOSE_END, (end, at: number) => (folded[at - 1] === "/" || at === 0 ? end : ""));
}

const ANCHORED = /^\^\(\?:([\s\S]*)\)\$$/;

/**
 * One test for many globs. Paths are folded first, so that no spelling of a guarded path slips by. Globs that start
 * with `**\/` share one expression that looks at each part of a path once, which is ten times as fast as one by one. It
 * is made when there is something to test.
 */
function patternList(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => false;
  let matcher: RegExp | undefined;
  return (path) => {
    matcher ??= matcherOf(globs);
    return matcher.test(fold(path));
  };
}

function matcherOf(globs: readonly string[]): RegExp {
  const anywhere = globs.filter((glob) => glob.startsWith("**/")).map((glob) => expression(glob.slice(3)));
  const fixed = globs.filter((glob) => !glob.startsWith("**/")).map(expression);
  const alternatives = [
    ...(anywhere.length > 0 ? [`(?:^|/)(?:${anywhere.join("|")})$`] : []),
    ...(fixed.length > 0 ? [`^(?:${fixed.join("|")})$`] : []),
  ];
  return new RegExp(alternatives.join("|"), "i");
}

function expression(glob: string): string {
  // The anchors that picomatch sets, for some globs twice, are set once around all of them.
  let { source } = picomatch.makeRe(glob, { dot: true, nocase: true });
  for (let inner = ANCHORED.exec(source); inner !== null; inner = ANCHORED.exec(source))
    source = inner[1] ?? "";
  return `(?:${source})`;
}

const PlaceTable = z.strictObject({
  credentials: z.array(z.string()),
  notCredentials: z.array(z.string()),
  persistence: z.array(z.string()),
  temporary: z.array(z.string()),
  homes: z.array(z.string()),
  readable: z.array(z.string()),
  devices: z.array(z.string()),
});

const table = tableFile("places.json", PlaceTable);
const isListed = patternList(table.credentials);
const isExcepted = patternList(table.notCredentials);

/** Whether a file of this name is known to hold keys, tokens or passwords. */
export const isCredentials = (path: string): boolean => isListed(path) && !isExcepted(path);
/** Whether programs run what lies there by themselves, later. */
export const isPersistence = patternList(table.persistence);
/** Whether it lies in a user's home, by the name of the folder. */
export const isUserHome = patternList(table.homes);
/** Whether it is a part of the system that all users may read and that holds no secrets. */
export const isReadableByAll = patternList(table.readable);
/** Devices that only swallow or supply: reading or writing them is no effect. */
export const DEVICES: ReadonlySet<string> = new Set(table.devices);
/** Where machines keep folders for passing files. */
const TEMPORARY: readonly string[] = table.temporary;

/** A process by its folder, and perhaps one of its threads by the folder of that. */
const PROCESS = /(?:^|\/)proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?(?:\/|$)/g;

/** What the kernel shows of a process that reveals nothing of its memory and variables. */
const TOLD: ReadonlySet<string> = new Set(
  "status stat statm comm limits cgroup mounts mountinfo mountstats io sched schedstat oom_score oom_adj oom_score_adj loginuid sessionid wchan cpuset uid_map gid_map setgroups projid_map timerslack_ns net ns attr task".split(
    " ",
  ),
);

/**
 * Whether a path leads to what a process holds: its variables, its memory, its open files, or the machine as it sees
 * it. Goes by where in `/proc` it lies, so that a new name there counts, too.
 * @param path tidy; followed to its end, or as it was given
 */
export function isProcessContent(path: string): boolean {
  if (/^\/dev\/fd\/(?![012]$)./.test(path)) return true;
  if (!path.includes("proc/")) return false;
  for (const found of path.matchAll(PROCESS)) {
    const rest = path.slice(found.index + found[0].length);
    const [name = ""] = rest.split("/");
    if (name !== "" && !TOLD.has(name)) return true;
  }
  return false;
}

/** Whether what lies below a folder is, or holds, the folders of processes. */
function holdsProcesses(path: string): boolean {
  return path === "/" || /(?:^|\/)proc(?:\/(?:self|thread-self|\d+)(?:\/task(?:\/\d+)?)?)?$/.test(path);
}

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
    const all = (paths: readonly string[]) => Promise.all(paths.map(real));
    const { harness, home } = context;
    const [shared, temporary, roots, [realHarness = harness, realHome = home]] = await Promise.all([
      sharedFolders(context.files),
      all(context.temporary ?? environmentFolder(context)),
      // A folder that was put in the place of a root since is not the one that the session was let into.
      context.realRoots ?? all(context.roots),
      all([harness, home]),
    ]);
    return new Places({
      roots,
      harness: [harness, realHarness],
      home: [home, realHome],
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

const sharedOf = new WeakMap<FilePort, Promise<readonly string[]>>();

/**
 * Where the shared folders of a machine really lie, resolved once: they belong to the system, and a link that is put in
 * their place later makes nothing else shared.
 */
function sharedFolders(files: FilePort): Promise<readonly string[]> {
  let shared = sharedOf.get(files);
  if (shared === undefined) {
    const resolver = new PathResolver(files);
    shared = Promise.all(TEMPORARY.map(async (path) => (await resolver.resolve(path)).path));
    sharedOf.set(files, shared);
  }
  return shared;
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

/** Where people keep keys, below their homes. */
const KEY_FOLDERS = [".ssh", ".aws", ".gnupg", ".kube", ".config/gh", ".docker", ".azure"];
const KEY_FILES = [".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".vault-token", ".env"];
/** More names than this in a folder are not looked at. */
const NAME_LIMIT = 256;
/** How many folders of the harness are looked into. */
const FOLDER_LIMIT = 16;

/** Knows guarded files again under other names that hard links give them. */
export class HardLinks {
  readonly #context: FactsContext;
  #guarded: Promise<ReadonlyMap<string, Place>> | undefined;

  constructor(context: FactsContext) {
    this.#context = context;
  }

  /** The place of the guarded file that a path is another name of; `undefined` when it is none. */
  async placeOf(path: string): Promise<Place | undefined> {
    const identity = await this.#identity(path);
    if (identity === undefined) return undefined;
    this.#guarded ??= this.#find();
    return (await this.#guarded).get(identity);
  }

  async #find(): Promise<ReadonlyMap<string, Place>> {
    const { home, harness } = this.#context;
    const found = new Map<string, Place>();
    const note = async (paths: readonly string[], place: Place): Promise<void> => {
      const identities = await Promise.all(paths.map((path) => this.#identity(path)));
      for (const identity of identities) if (identity !== undefined) found.set(identity, place);
    };
    await note(
      KEY_FILES.map((name) => posix.join(home, name)),
      "credentials",
    );
    for (const folder of KEY_FOLDERS) {
      await note((await this.#list(posix.join(home, folder))).files, "credentials");
    }
    const top = await this.#list(harness);
    await note(top.files, "harness");
    for (const folder of top.folders.slice(0, FOLDER_LIMIT))
      await note((await this.#list(folder)).files, "harness");
    return found;
  }

  async #list(folder: string) {
    const entries = (await this.#context.files.list(folder, NAME_LIMIT).catch(() => undefined)) ?? [];
    const [files, folders]: [string[], string[]] = [[], []];
    for (const { name, isFolder } of entries) (isFolder ? folders : files).push(posix.join(folder, name));
    return { files, folders };
  }

  #identity(path: string): Promise<string | undefined> {
    return this.#context.files.linkedIdentity(path).catch(() => undefined);
  }
}
