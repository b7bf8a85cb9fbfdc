import type { Clock } from "@reins/kit";
import { mostCrowding } from "./most-crowding.ts";
import { hashOf, newSecret, type RandomBytes } from "./secret.ts";

const LIFETIME_MS = 10 * 60_000;
const MOST = 64;

interface Code {
  readonly hash: string;
  readonly principal: string;
  readonly expires: number;
}

/** Codes that can be exchanged for a login: each once, and for ten minutes. Only their hashes are kept. */
export class LoginCodes {
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  readonly #codes = new Map<string, Code>();

  constructor(clock: Clock, randomBytes: RandomBytes) {
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  /** A new code that lets its holder in as a principal. Of too many the oldest is forgotten of whoever has most. */
  make(principal: string): string {
    const code = newSecret(this.#randomBytes);
    const hash = hashOf(code);
    this.#codes.set(hash, { hash, principal, expires: this.#clock.now().getTime() + LIFETIME_MS });
    const forgotten = this.#codes.size > MOST ? mostCrowding([...this.#codes.values()]) : undefined;
    if (forgotten) this.#codes.delete(forgotten.hash);
    return code;
  }

  /** The principal of a code, which is used up with that; `undefined` if it never was, was used or is over. */
  take(code: string): string | undefined {
    const hash = hashOf(code);
    const found = this.#codes.get(hash);
    this.#codes.delete(hash);
    return found && found.expires > this.#clock.now().getTime() ? found.principal : undefined;
  }
}
