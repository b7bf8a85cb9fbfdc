import type { LoggedRequest } from "@reins/api";
import type { AnsweredRequest } from "../../gateway/application.ts";
import { Ring } from "./ring.ts";

const MOST = 1_000;

/** The newest requests that were answered. */
export class RequestRing {
  readonly #ring = new Ring<LoggedRequest & { readonly seq: number }>(MOST);
  readonly #listeners = new Set<(request: LoggedRequest) => void>();
  readonly #now: () => Date;
  #seq = 0;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Takes a request in. */
  readonly take = ({ method, route, path, status, ms, principal }: AnsweredRequest): void => {
    this.#seq += 1;
    const at = this.#now().toISOString();
    const request = { seq: this.#seq, at, method, route, path, status, ms, principal };
    this.#ring.push(request);
    for (const listener of this.#listeners) listener(request);
  };

  /** The number of the newest. */
  get last(): number {
    return this.#seq;
  }

  /** Those that are kept, the oldest first. */
  get items(): readonly LoggedRequest[] {
    return this.#ring.items;
  }

  /** Tells of every request; the returned function ends that. */
  listen(listener: (request: LoggedRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
