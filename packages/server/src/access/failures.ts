import { isIPv6 } from "node:net";
import type { Clock } from "@reins/kit";

/** More addresses than this are not remembered; of too many the one that was quiet for longest is forgotten. */
const MOST_ADDRESSES = 10_000;

/** How many wrong credentials an address may show at once, and how long until it may show one more. */
export interface FailureLimits {
  readonly failures: number;
  readonly failureMs: number;
}

/**
 * Counts wrong credentials by address. It never keeps a right one out, so nobody is locked out by a neighbour: secrets
 * have 256 bits, and guessing is stopped by that.
 */
export class Failures {
  readonly #clock: Clock;
  readonly #limits: FailureLimits;
  /** When each address will have none left, in milliseconds. */
  readonly #clearAt = new Map<string, number>();

  constructor(clock: Clock, limits: FailureLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Notes one. Gives how many seconds to wait when that was one too many. */
  note(address: string): number | undefined {
    const { failures, failureMs } = this.#limits;
    const now = this.#clock.now().getTime();
    const key = networkOf(address);
    // Neither before now nor beyond what can be owed, whatever happened to the clock.
    const clearAt = Math.min(Math.max(this.#clearAt.get(key) ?? now, now), now + failures * failureMs);
    const over = clearAt - now - (failures - 1) * failureMs;
    this.#clearAt.delete(key);
    this.#clearAt.set(key, over > 0 ? clearAt : clearAt + failureMs);
    const [quietest] = this.#clearAt.keys();
    if (this.#clearAt.size > MOST_ADDRESSES && quietest !== undefined) this.#clearAt.delete(quietest);
    return over > 0 ? Math.ceil(over / 1_000) : undefined;
  }
}

/** Who has one address of IPv6 has all that begin with the same 64 bits. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  return (tail === undefined ? groups : [...groups, "0", "0", "0", "0"]).slice(0, 4).join(":");
}
