import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@reins/acp";
import { Idleness, type Wake, wakeOf } from "@reins/bridge";
import { type Clock, visibleText } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import { interruptFor } from "../hub/client-messages.ts";
import type { IdleScheduler } from "../hub/context.ts";
import type { Hub } from "../hub/hub.ts";
import type { SessionRecord } from "../sessions/session-record.ts";

/** What daemons need. */
export interface DaemonsOptions {
  readonly hub: Pick<Hub, "clock" | "connect" | "disconnect" | "live" | "sendUnlogged">;
  readonly harness: { readonly identity: Pick<Harness["identity"], "current"> };
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

const REST =
  "See whether something is left to do: mail, the board, what you had begun. If there is nothing, say so in a word.";

/** The prompt of a daemon that wakes. Where no person wrote it, clients do not see it as a person's words. */
function promptOf(wake: Wake): JsonObject {
  if (wake.kind === "message") return { type: "text", text: wake.content };
  const why = {
    resume: () => "You were resumed without a message.",
    timer: () => "Your timer woke you.",
    watch: (paths: readonly string[]) =>
      `Files that you watch have changed: ${paths.map(visibleText).join(", ")}.`,
  };
  const text = wake.kind === "watch" ? why.watch(wake.paths) : why[wake.kind]();
  return { type: "text", text: `[${text} ${REST}]`, annotations: { audience: ["assistant"] } };
}

/** How long after a turn changes of watched files still count as made by it. */
const OWN_CHANGES_MS = 500;

/**
 * Sessions that stay awake between turns, because their `session/new` said `_meta.reins.daemon`. While one is idle its
 * clients receive `agent/idle`; `agent/resume` and messages that no prompt brought wake it at once, and what it then does
 * is a turn like any other.
 */
export class Daemons implements IdleScheduler {
  readonly #options: DaemonsOptions;
  readonly #idling = new Map<string, Idleness>();
  /** When the last turn of each session that idles ended. */
  readonly #turnEnded = new Map<string, number>();
  readonly #closing = new AbortController();

  constructor(options: DaemonsOptions) {
    this.#options = options;
  }

  takes(session: SessionRecord, method: string, params: JsonObject): boolean {
    const wake = session.daemon ? wakeOf(method, params) : undefined;
    if (!wake) return false;
    this.#idlenessOf(session, wake);
    if (wake.kind === "message")
      interruptFor(this.#options.hub, session.id, wake).catch(this.#options.onError);
    return true;
  }

  turnEnded(session: SessionRecord): void {
    this.#turnEnded.set(session.id, this.#options.hub.clock.now().getTime());
    if (!session.ended) this.#idlenessOf(session).restartBackoff();
  }

  /** Lets all of them sleep. */
  close(): void {
    this.#closing.abort(new Error("Reins is stopping"));
  }

  #idlenessOf(session: SessionRecord, wake?: Wake): Idleness {
    const known = this.#idling.get(session.id);
    if (wake) known?.wake(wake);
    if (known) return known;
    const over = new AbortController();
    const idleness = new Idleness({
      onIdle: (tick) => {
        const live = this.#options.hub.live(session.id);
        if (!live) over.abort(new Error("the session is not open any more"));
        else if (!live.queue.isBusy)
          this.#options.hub.sendUnlogged(session.id, {
            method: "agent/idle",
            params: { sessionId: session.id, ...tick },
          });
      },
      sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal, ref: false }),
    });
    // Before it is first idle: a session that is not open would not wait for it.
    if (wake) idleness.wake(wake);
    this.#idling.set(session.id, idleness);
    const stop = wakeSources(session, this.#options.hub.clock, {
      changed: (paths) => {
        if (!this.#isOwnChange(session)) idleness.wake({ kind: "watch", paths });
      },
      timer: () => idleness.wake({ kind: "timer" }),
    });
    const signal = AbortSignal.any([over.signal, this.#closing.signal]);
    // Also where it ends by an error: what would wake it then wakes nothing.
    void this.#live(session, idleness, signal).finally(stop);
    return idleness;
  }

  /** Waits to be woken, takes a turn, and waits again, until the session is gone. */
  async #live(session: SessionRecord, idleness: Idleness, signal: AbortSignal): Promise<void> {
    try {
      for (;;) await this.#turn(session, await idleness.next(signal), signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onError(error);
    } finally {
      this.#idling.delete(session.id);
      this.#turnEnded.delete(session.id);
    }
  }

  async #turn({ id, principal: by, agent }: SessionRecord, wake: Wake, signal: AbortSignal): Promise<void> {
    const { hub, harness, onError } = this.#options;
    const principal = await harness.identity.current({ id: by });
    if (!principal) throw new Error("the principal that started the session may no longer do so");
    const connection = await hub.connect({ principal, agent });
    try {
      await connection.request("session/prompt", { sessionId: id, prompt: [promptOf(wake)] }, signal);
    } catch (error) {
      // Its clients have seen how the turn ended; it waits for the next wake all the same.
      if (signal.aborted) throw error;
      onError(error);
    } finally {
      hub.disconnect(connection);
    }
  }

  /** Whether a change of a file now was most likely made by the session's own turn. */
  #isOwnChange({ id }: SessionRecord): boolean {
    const { hub } = this.#options;
    const since = hub.clock.now().getTime() - (this.#turnEnded.get(id) ?? 0);
    return (hub.live(id)?.queue.isBusy ?? false) || since < OWN_CHANGES_MS;
  }
}

/** Receives what wakes a session: the changed paths as its client named them, or the timer. */
interface WakeListener {
  changed(paths: readonly string[]): void;
  timer(): void;
}

/** Changes that come together wake a session once. */
const TOGETHER_MS = 100;

/**
 * Watches the files and folders that a session names, within its own folders, and runs its timer, until the returned function
 * is called. What cannot be watched is left out.
 */
function wakeSources(
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
