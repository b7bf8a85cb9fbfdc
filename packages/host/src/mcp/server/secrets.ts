import { redact } from "@reins/supervisor";

/** Shorter values are words that occur anyway, and hiding them would garble every text. */
const SHORTEST = 6;

/** The credentials a server was declared with, which no text of ours may give away to the agent. */
export class Secrets {
  readonly #values: readonly string[];

  constructor(values: readonly string[]) {
    const parts = values.flatMap((value) => [value, ...value.split(/\s+/)]);
    this.#values = [...new Set(parts)]
      .filter((part) => part.length >= SHORTEST)
      .sort((left, right) => right.length - left.length);
  }

  /** The text without them, and without anything else that looks like a secret. */
  hide(text: string): string {
    const hidden = this.#values.reduce((rest, value) => rest.replaceAll(value, "[redacted]"), text);
    return String(redact(hidden));
  }
}
