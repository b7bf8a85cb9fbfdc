import { type Clock, errorMessage } from "@reins/kit";
import { change, type Store } from "@reins/store";
import { withheld } from "../shown.ts";
import { approvalTables } from "../tables.ts";
import type { Delivery } from "./delivery.ts";
import type { Post } from "./post.ts";
import { SIGNATURE_HEADER, sign } from "./signature.ts";
import type { Webhook } from "./webhook.ts";

/** What a lane stands on. */
interface LaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly webhook: Webhook;
  readonly post: Post;
  readonly onError: (error: unknown) => void;
}

/** Tried this often over about an hour, then given up. */
const MAX_ATTEMPTS = 12;
const FIRST_PAUSE_MS = 1_000;
const ATTEMPT_MS = 10_000;
const LONGEST_WAIT_MS = 60_000;
const MAX_ERROR = 500;

/** The way to one webhook: one message at a time, what failed again later. */
export class Lane {
  readonly #options: LaneOptions;
  #closed = false;
  /** Calls off the attempt that is under way. */
  #stop: AbortController | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #cancelWait: (() => void) | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** There may be something to send. */
  wake(): void {
    if (this.#closed) return;
    this.#again = true;
    this.#cancelWait?.();
    this.#running ??= this.#run();
  }

  /** Calls off what is under way; it waits in the outbox for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop?.abort();
    this.#cancelWait?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, webhook, clock, onError } = this.#options;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        const next = await store.query(approvalTables, "nextDelivery", { webhook: webhook.name });
        if (!next || this.#closed) continue;
        const wait = Date.parse(next.due_at) - clock.now().getTime();
        if (wait > 0) this.#wakeAfter(wait);
        else await this.#deliver(next);
      }
    } catch (error) {
      if (this.#closed) return;
      // It is still in the outbox.
      this.#wakeAfter(LONGEST_WAIT_MS);
      onError(error);
    } finally {
      this.#running = undefined;
    }
  }

  #wakeAfter(milliseconds: number): void {
    const wake = () => this.wake();
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(Math.min(milliseconds, LONGEST_WAIT_MS), wake);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { id } = delivery;
    const error = await this.#attempt(delivery);
    if (this.#closed && error !== undefined) return;
    const attempts = delivery.attempts + 1;
    const outcome =
      error === undefined
        ? change(approvalTables, "delivered", { id })
        : change(approvalTables, "failed", { id, attempts, error, due_at: this.#dueAfter(attempts) });
    await this.#options.store.commit([outcome], { durable: false });
    this.#again = true;
  }

  /** Why an attempt failed; nothing when it did not. */
  async #attempt({ id, change: told }: Delivery): Promise<string | undefined> {
    const { clock, webhook, post } = this.#options;
    const { seq, at, entry, approval } = told;
    const sent = webhook.details ? told : { seq, at, entry, approval: withheld(approval) };
    const body = JSON.stringify({ type: "approval", delivery: id, ...sent });
    const stop = new AbortController();
    this.#stop = stop;
    const inTime = clock.after(ATTEMPT_MS, () => stop.abort(new Error(`no answer in ${ATTEMPT_MS} ms`)));
    try {
      const status = await post(webhook.url, {
        headers: {
          "Content-Type": "application/json",
          "Reins-Delivery": String(id),
          [SIGNATURE_HEADER]: sign(body, webhook.secret, clock.now()),
        },
        body,
        signal: stop.signal,
      });
      return status >= 200 && status < 300 ? undefined : `the answer was ${status}`;
    } catch (error) {
      return reasonOf(error);
    } finally {
      inTime();
      this.#stop = undefined;
    }
  }

  #dueAfter(attempts: number): string | undefined {
    if (attempts >= MAX_ATTEMPTS) return undefined;
    const pause = FIRST_PAUSE_MS * 2 ** (attempts - 1);
    return new Date(this.#options.clock.now().getTime() + pause).toISOString();
  }
}

/** The innermost message, which says most: "fetch failed" has a cause. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.cause instanceof Error) return reasonOf(error.cause);
  return errorMessage(error).slice(0, MAX_ERROR);
}
