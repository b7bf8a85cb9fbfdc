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
