import { ModelError } from "../models/model-error.ts";

/** The time in which a model says nothing; its signal aborts when that is too long. */
export class Silence {
  readonly signal: AbortSignal;
  readonly #limitMs: number;
  readonly #over = new AbortController();
  readonly #reason: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, reason: string) {
    this.signal = this.#over.signal;
    this.#limitMs = limitMs;
    this.#reason = reason;
  }

  begin(): void {
    this.end();
    this.#timer = setTimeout(
      () => this.#over.abort(new ModelError("unavailable", this.#reason)),
      this.#limitMs,
    );
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
