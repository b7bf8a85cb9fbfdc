import type { ApplyRequest, Request, Task } from "./messages.ts";

/** What a thread has been asked and not begun yet, in order. */
export class Inbox {
  readonly #maxBatch: number;
  #waiting: Request[] = [];

  constructor(maxBatch: number) {
    this.#maxBatch = maxBatch;
  }

  /** Whether there is nothing left to do. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(request: Request): void {
    this.#waiting.push(request);
  }

  /**
   * The next thing to do: one request, or, which is group commit, all commits that gathered while the last batch was
   * written.
   */
  take(): Task | undefined {
    const batch: ApplyRequest[] = [];
    let commits = 0;
    for (const request of this.#waiting) {
      if (request.kind !== "apply") {
        if (batch.length > 0) break;
        this.#waiting.shift();
        return request;
      }
      commits += request.writes.length;
      if (commits > this.#maxBatch && batch.length > 0) break;
      batch.push(request);
    }
    this.#waiting = this.#waiting.slice(batch.length);
    return batch.length > 0 ? batch : undefined;
  }
}
