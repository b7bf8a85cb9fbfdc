import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import type { Clock } from "@reins/kit";
import type { SessionRecord } from "../sessions/session-record.ts";

/** Receives what wakes a session: the changed paths as its client named them, or the timer. */
export interface WakeListener {
  changed(paths: readonly string[]): void;
  timer(): void;
}

/** Changes that come together wake a session once. */
const TOGETHER_MS = 100;

/**
 * Watches the files and folders that a session names, within its own folders, and runs its timer, until the returned function
 * is called. What cannot be watched is left out.
 */
export function wakeSources(
  { wakes, cwd, additional_directories }: SessionRecord,
  clock: Pick<Clock, "after">,
  listener: WakeListener,
): () => void {
  const { watch_paths = [], interval_ms } = wakes ?? {};
  const watchers: FSWatcher[] = [];
  const changed = new Set<string>();
  let isOver = false;
  let cancelFlush: (() => void) | undefined;
  const flush = () => {
    cancelFlush = undefined;
    listener.changed([...changed]);
    changed.clear();
  };
  const note = (path: string) => {
    changed.add(path);
    cancelFlush ??= clock.after(TOGETHER_MS, flush);
  };
  const add = async (path: string) => {
    const real = await reachable(path, cwd, [cwd, ...additional_directories]);
    if (real === undefined || isOver) return;
    const watcher = watch(real, { persistent: false }, () => note(path));
    // A file that is removed is watched no longer.
    watcher.on("error", () => watcher.close());
    watchers.push(watcher);
  };
  for (const path of watch_paths) add(path).catch(() => undefined);
  let cancelTimer: (() => void) | undefined;
  const arm = () => {
    if (interval_ms === undefined || isOver) return;
    cancelTimer = clock.after(interval_ms, () => {
      listener.timer();
      arm();
    });
  };
  arm();
  return () => {
    isOver = true;
    cancelTimer?.();
    cancelFlush?.();
    for (const watcher of watchers) watcher.close();
  };
}

/** The real path of a file or folder, if it lies in one of a session's folders. */
async function reachable(path: string, cwd: string, roots: readonly string[]): Promise<string | undefined> {
  const real = await realpath(resolve(cwd, path));
  for (const root of roots) {
    const below = relative(await realpath(root), real);
    if (!below.startsWith("..") && !isAbsolute(below)) return real;
  }
  return undefined;
}
