/** How time is taken. */
export interface Watch {
  /** Milliseconds from some moment on. */
  readonly now: () => number;
  /** Runs something later, unless what this gives back is called. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
}

const systemWatch: Watch = {
  now: () => performance.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Time that counts only while it runs: whoever waits for a person is not hurried by it. */
export class AllottedTime {
  readonly #over = new AbortController();
  readonly #watch: Watch;
  #left: number;
  #began: number | undefined;
  #callOff: () => void = () => undefined;
  #isDone = false;

  constructor(milliseconds: number, watch: Watch = systemWatch) {
    this.#left = milliseconds;
    this.#watch = watch;
    this.run();
  }

  /** Aborts when it is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Counts from now on, if it does not already. */
  run(): void {
    if (this.#began !== undefined || this.#isDone) return;
    this.#began = this.#watch.now();
    this.#callOff = this.#watch.after(this.#left, () => this.#over.abort(new Error("its time is over")));
  }

  /** Never counts again. */
  end(): void {
    this.rest();
    this.#isDone = true;
  }

  /** Does not count until it runs again. */
  rest(): void {
    if (this.#began === undefined) return;
    this.#callOff();
    this.#left = Math.max(0, this.#left - (this.#watch.now() - this.#began));
    this.#began = undefined;
  }
}
