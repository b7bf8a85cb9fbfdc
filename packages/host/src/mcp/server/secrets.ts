import { type Redact, Redactor } from "@reins/supervisor";

/** The credentials a server was declared with, which no text of ours may give away to the agent. */
export class Secrets {
  readonly #redact: Redact;

  constructor(values: readonly string[], redactor = Redactor.create()) {
    this.#redact = redactor.also(values);
  }

  /** The text without them, and without anything else that is known to be a secret. */
  hide(text: string): string {
    return String(this.#redact(text));
  }
}
