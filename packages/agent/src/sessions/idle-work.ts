/** What waits for a quiet moment. */
interface Waiting {
  readonly since: number;
  readonly run: (idleMs: number) => Promise<void>;
}

/** What background work stands on. */
export interface IdleWorkOptions {
  /** How long nobody must have wanted anything. */
  readonly delayMs: number;
  readonly now: () => Date;
  readonly onFault: (fault: unknown) => void;
}

/** Work that can wait until nobody wants anything: one timer for all sessions, and none when nothing waits. */
export class IdleWork {
  readonly #options: IdleWorkOptions;
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: IdleWorkOptions) {
    this.#options = options;
  }

  /** Has something done for a session when it has been idle for a while. */
  put(sessionId: string, run: Waiting["run"]): void {
    this.#waiting.set(sessionId, { since: this.#options.now().getTime(), run });
    this.#later();
  }

  /** The session is busy again, or gone. */
  drop(sessionId: string): void {
    this.#waiting.delete(sessionId);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** What comes up while others have something done is looked at when that is done. */
  #later(): void {
    if (this.#isLooking || this.#waiting.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#look(), this.#options.delayMs).unref();
  }

  /** One after the other: what runs in the background leaves room for what does not. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    const now = this.#options.now().getTime();
    for (const [sessionId, { since, run }] of [...this.#waiting]) {
      if (now - since < this.#options.delayMs || !this.#waiting.delete(sessionId)) continue;
      await run(now - since).catch(this.#options.onFault);
    }
    this.#isLooking = false;
    this.#timer = undefined;
    this.#later();
  }
}
