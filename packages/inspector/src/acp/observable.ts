/** A value that notifies its subscribers of changes. */
export class Observable<State> {
  readonly #watchers = new Set<() => void>();
  #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  /** The current value; the same object until it changes. */
  readonly current = (): State => this.#state;

  /** Subscribes to changes; returns `unsubscribe`. */
  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  set(state: State): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const watcher of this.#watchers) watcher();
  }
}

/** Runs a callback with the next frame, or after a short delay if the page is hidden. */
export type Schedule = (run: () => void) => void;

/** A hidden page draws no frames but must keep up. */
const UNSEEN_MS = 200;

export const byFrame: Schedule = (run) => {
  let isDone = false;
  const once = () => {
    if (isDone) return;
    isDone = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    run();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, UNSEEN_MS);
};
