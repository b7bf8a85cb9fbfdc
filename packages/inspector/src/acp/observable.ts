/** A value that notifies its subscribers of changes. */
export class Observable<State> {
  readonly #subscribers = new Set<() => void>();
  #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  /** The current value; the same object until it changes. */
  readonly current = (): State => this.#state;

  /** Subscribes to changes; returns `unsubscribe`. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  };

  set(state: State): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const subscriber of this.#subscribers) subscriber();
  }
}

/** Runs a callback with the next frame, or after a short delay if the page is hidden. */
export type Schedule = (run: () => void) => void;

/** A hidden page draws no frames but must keep up. */
const HIDDEN_MS = 200;

export const onNextFrame: Schedule = (run) => {
  let isDone = false;
  const once = () => {
    if (isDone) return;
    isDone = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    run();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, HIDDEN_MS);
};
