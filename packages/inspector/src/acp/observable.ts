/** Something that changes, and tells whoever watches. */
export class Observable<State> {
  readonly #watchers = new Set<() => void>();
  #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  /** How it is now. The same object as long as nothing changed. */
  readonly current = (): State => this.#state;

  /** Calls somebody after every change, until the answer is called. */
  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  /** Changes it. */
  set(state: State): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const watcher of this.#watchers) watcher();
  }
}

/** Runs something with the next picture that the browser draws, and soon where it draws none. */
export type Schedule = (run: () => void) => void;

/** A page in the background draws nothing, and must not fall behind for that. */
const UNSEEN_MS = 200;

/** By the browser's own frames. */
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
