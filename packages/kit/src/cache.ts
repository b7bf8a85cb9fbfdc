import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, systemClock } from "./async.ts";
import { hasCode } from "./errors.ts";

/** A cache bounded by entries and by total size; evicts the least recently used. */
export class LruCache<Key, Value> {
  readonly #limits: { readonly entries: number; readonly size?: number };
  readonly #entries = new Map<Key, { readonly value: Value; readonly size: number }>();
  #size = 0;

  constructor(limits: { readonly entries: number; readonly size?: number }) {
    this.#limits = limits;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: Key, value: Value, size = 1): void {
    this.delete(key);
    this.#entries.set(key, { value, size });
    this.#size += size;
    const { entries, size: mostSize = Number.POSITIVE_INFINITY } = this.#limits;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entries && this.#size <= mostSize) break;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#size -= entry.size;
    this.#entries.delete(key);
  }
}

/** A file that changed so short a time before it was looked at may change again without another time of change. */
const UNSETTLED_MS = 2_000;
/** For how long stamps count at most: what could not be read for a moment, or has no times to go by, is read again. */
const MAX_AGE_MS = 30_000;
const AT_ONCE = 32;

/**
 * What files and folders looked like before they were read. As long as that is {@link areCurrent}, a cache need not read
 * them again. It says nothing about whether a content may be trusted: a file is verified when it is used.
 */
export class FileStamps {
  readonly #clock: Pick<Clock, "now">;
  readonly #present = new Map<string, string>();
  /** Paths where nothing was, each with the nearest folder above it; none where a link on the way leads nowhere. */
  readonly #absent = new Map<string, string | undefined>();
  /** The states of these folders; while one is the same, nothing has come below it. None of one that changed just then. */
  readonly #folders = new Map<string, string | undefined>();
  readonly #since: number;
  #isSettled = true;
  /** The look that is about to begin. */
  #next: Promise<boolean> | undefined;

  constructor(clock: Pick<Clock, "now"> = systemClock) {
    this.#clock = clock;
    this.#since = clock.now().getTime();
  }

  /** How many paths were noted. */
  get size(): number {
    return this.#present.size + this.#absent.size;
  }

  /** Notes what is at a path, or that nothing is; to be called before it is read. */
  async note(path: string): Promise<void> {
    const stamp = await stampOf(path);
    this.#present.delete(path);
    this.#absent.delete(path);
    if (!stamp) return this.#noteAbsent(path);
    if (!this.#isUnchanged(stamp)) this.#isSettled = false;
    this.#present.set(path, stamp.text);
  }

  /** Whether everything still looks as it was noted. Callers at the same time share a look, which begins after them all. */
  areCurrent(): Promise<boolean> {
    this.#next ??= Promise.resolve().then(() => {
      this.#next = undefined;
      return this.#look();
    });
    return this.#next;
  }

  async #look(): Promise<boolean> {
    const age = this.#clock.now().getTime() - this.#since;
    if (!this.#isSettled || age < 0 || age > MAX_AGE_MS) return false;
    // As one state: other calls note folders anew meanwhile.
    const [known, all] = [new Map(this.#folders), [...this.#absent]];
    const changed = await changedIn([...known]);
    const absent = all.filter(([, folder = ""]) => !known.has(folder) || changed.has(folder));
    const left = [...this.#present, ...absent.map(([path]) => [path, undefined] as const)];
    if (left.length > 0 && (await changedIn(left)).size > 0) return false;
    const settled = absent.filter(([, folder = ""]) => this.#isUnchanged(changed.get(folder)));
    for (const [path, folder = ""] of settled) {
      this.#absent.set(path, undefined);
      this.#folders.delete(folder);
    }
    for (const [path] of settled) await this.#noteAbsent(path);
    return true;
  }

  /**
   * Many paths are absent, and a stat that fails costs several times one that succeeds, so the folder above them is
   * looked at instead. What came while this was noted changed that folder just now, so that it is not relied upon.
   */
  async #noteAbsent(path: string): Promise<void> {
    const folder = await folderAbove(path);
    this.#absent.set(path, folder);
    if (folder === undefined || this.#folders.has(folder)) return;
    // The first state of a folder counts for all paths below it.
    const stamp = await stampOf(folder);
    this.#folders.set(folder, this.#isUnchanged(stamp) ? stamp?.text : undefined);
  }

  /** Whether something is there that did not change just now. */
  #isUnchanged(stamp: Stamp | undefined): boolean {
    return stamp !== undefined && stamp.changedAt <= this.#clock.now().getTime() - UNSETTLED_MS;
  }
}

/** The nearest folder above a path that exists; undefined where a link on the way leads nowhere or cannot be read. */
async function folderAbove(path: string): Promise<string | undefined> {
  for (let at = path; ; at = dirname(at)) {
    if (await isThere(at)) return undefined;
    const above = dirname(at);
    if (above === at) return undefined;
    if (await stampOf(above)) return above;
  }
}

/** Whether a name is in its folder, or that cannot be known. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => !hasCode(error, "ENOENT", "ENOTDIR"),
  );
}

/** The paths that do not look as they were noted, each as it looks now. */
async function changedIn(
  noted: readonly (readonly [string, string | undefined])[],
): Promise<ReadonlyMap<string, Stamp | undefined>> {
  const changed = new Map<string, Stamp | undefined>();
  for (let from = 0; from < noted.length; from += AT_ONCE) {
    const some = noted.slice(from, from + AT_ONCE);
    const now = await Promise.all(some.map(([path]) => stampOf(path)));
    for (const [index, [path, text]] of some.entries())
      if (now[index]?.text !== text) changed.set(path, now[index]);
  }
  return changed;
}

/** Tells one state of a file from another, by what no program can set back. */
interface Stamp {
  readonly text: string;
  readonly changedAt: number;
}

/** The state of what is at a path; undefined where there is none to be seen. */
async function stampOf(path: string): Promise<Stamp | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found) return undefined;
  const { dev, ino, size, mode, ctimeNs, ctimeMs } = found;
  return { text: [dev, ino, size, mode, ctimeNs].join(" "), changedAt: Number(ctimeMs) };
}
