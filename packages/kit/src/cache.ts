import { stat } from "node:fs/promises";
import { type Clock, systemClock } from "./async.ts";

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
  readonly #stamps = new Map<string, string | undefined>();
  readonly #since: number;
  #isSettled = true;

  constructor(clock: Pick<Clock, "now"> = systemClock) {
    this.#clock = clock;
    this.#since = clock.now().getTime();
  }

  /** How many paths were noted. */
  get size(): number {
    return this.#stamps.size;
  }

  /** Notes what is at a path, or that nothing is; to be called before it is read. */
  async note(path: string): Promise<void> {
    const stamp = await stampOf(path);
    const settledBefore = this.#clock.now().getTime() - UNSETTLED_MS;
    if (stamp && stamp.changedAt > settledBefore) this.#isSettled = false;
    this.#stamps.set(path, stamp?.text);
  }

  /** Whether everything still looks as it was noted. */
  async areCurrent(): Promise<boolean> {
    const age = this.#clock.now().getTime() - this.#since;
    if (!this.#isSettled || age < 0 || age > MAX_AGE_MS) return false;
    const noted = [...this.#stamps];
    for (let from = 0; from < noted.length; from += AT_ONCE) {
      const some = noted.slice(from, from + AT_ONCE);
      const now = await Promise.all(some.map(([path]) => stampOf(path)));
      if (some.some(([, text], index) => now[index]?.text !== text)) return false;
    }
    return true;
  }
}

/** Tells one state of a file from another, by what no program can set back; undefined where there is none to be seen. */
async function stampOf(
  path: string,
): Promise<{ readonly text: string; readonly changedAt: number } | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found) return undefined;
  const { dev, ino, size, mode, ctimeNs, ctimeMs } = found;
  return { text: [dev, ino, size, mode, ctimeNs].join(" "), changedAt: Number(ctimeMs) };
}
