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

  constructor(options: IdleWorkOptions) {
    this.#options = options;
  }

  /** Has something done for a session when it has been idle for a while. */
  put(sessionId: string, run: Waiting["run"]): void {
    this.#waiting.set(sessionId, { since: this.#options.now().getTime(), run });
    this.#timer ??= setTimeout(() => void this.#look(), this.#options.delayMs).unref();
  }

  /** The session is busy again, or gone. */
  drop(sessionId: string): void {
    this.#waiting.delete(sessionId);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** One after the other: what runs in the background leaves room for what does not. */
  async #look(): Promise<void> {
    const now = this.#options.now().getTime();
    for (const [sessionId, { since, run }] of [...this.#waiting]) {
      if (now - since < this.#options.delayMs || !this.#waiting.delete(sessionId)) continue;
      await run(now - since).catch(this.#options.onFault);
    }
    this.#timer =
      this.#waiting.size > 0 ? setTimeout(() => void this.#look(), this.#options.delayMs).unref() : undefined;
  }
}
