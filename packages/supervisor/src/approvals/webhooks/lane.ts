import { createHmac, randomUUID } from "node:crypto";
import { type Clock, errorMessage, exponentialBackoff, retryAfterMs } from "@reins/kit";
import { restoredJson } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import { SupervisorError } from "../../errors.ts";
import { withheld } from "../answerer.ts";
import type { Delivery } from "../approval.ts";
import { approvalTables } from "../tables.ts";

/** What a lane needs. */
interface LaneOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly webhook: Webhook;
  readonly post: Post;
  /** How many deliveries may wait; the oldest beyond are given up. */
  readonly maxWaiting: number;
  readonly onError: (error: unknown) => void;
}

/** Why an attempt failed, and how long the receiver wants to be left alone, where it says so. */
interface Failure {
  readonly error: string;
  readonly retryAfter?: number | undefined;
}

/** A delivery is tried this often, over half an hour at least, and then given up. */
const MAX_ATTEMPTS = 12;
const FIRST_PAUSE_MS = 1_000;
/** A delivery is never due later than this; a clock that was set back makes it seem so. */
const LONGEST_PAUSE_MS = FIRST_PAUSE_MS * 2 ** (MAX_ATTEMPTS - 2);
const ATTEMPT_MS = 10_000;
const LONGEST_WAIT_MS = 60_000;
const MAX_ERROR = 500;
const TRIM_EVERY = 100;
/** How long a process that has sent to a webhook keeps others from it, and how long these wait: longer than an attempt. */
const OWNED_MS = 15_000;
const OTHERS_MS = 5_000;

/**
 * Sends to one webhook, one message at a time. A message that failed is retried later, after others; a failure also
 * pauses the lane, so that a receiver that is down gets one attempt per pause however many messages wait.
 */
export class Lane {
  readonly #options: LaneOptions;
  readonly #owner = randomUUID();
  #closed = false;
  /** Aborts the attempt in progress. */
  #stop: AbortController | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #cancelWait: (() => void) | undefined;
  /** Ends the pause after a failure; a timer and no time, which a clock that is set would move. */
  #cancelPause: (() => void) | undefined;
  /** Failures since the last message that arrived. */
  #failures = 0;
  #attempts = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** There may be something to send. */
  wake(): void {
    if (this.#closed || this.#cancelPause) return;
    this.#again = true;
    this.#cancelWait?.();
    this.#running ??= this.#run();
  }

  /** Aborts the attempt in progress; its message waits in the outbox for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop?.abort();
    this.#cancelWait?.();
    this.#cancelPause?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, webhook, clock, onError } = this.#options;
    try {
      while (this.#again && !this.#closed && !this.#cancelPause) {
        this.#again = false;
        const latest = new Date(clock.now().getTime() + LONGEST_PAUSE_MS).toISOString();
        const next = await store.query(approvalTables, "nextDelivery", { webhook: webhook.name, latest });
        if (!next || this.#closed) continue;
        if (!(await this.#isOurs())) {
          this.#wakeAfter(OTHERS_MS);
          break;
        }
        const wait = Date.parse(next.due_at) - clock.now().getTime();
        if (wait > 0 && wait <= LONGEST_PAUSE_MS) this.#wakeAfter(wait);
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

  /** Whether this process sends to the webhook: one of several that share the store does, as long as it goes on. */
  async #isOurs(): Promise<boolean> {
    const { store, webhook } = this.#options;
    return !store.node || (await store.claim(`webhook ${webhook.name}`, this.#owner, OWNED_MS)) !== undefined;
  }

  #wakeAfter(milliseconds: number): void {
    const wake = () => this.wake();
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.after(Math.min(milliseconds, LONGEST_WAIT_MS), wake);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { id } = delivery;
    const failure = await this.#attempt(delivery);
    if (this.#closed && failure) return;
    if (failure) this.#pause(failure);
    else this.#failures = 0;
    const attempts = delivery.attempts + 1;
    const due_at = this.#dueAfter(attempts);
    const outcome = failure
      ? change(approvalTables, "failed", { id, attempts, error: failure.error, due_at })
      : change(approvalTables, "delivered", { id });
    await this.#options.store.commit([outcome], { durable: false });
    this.#again = true;
    if (failure && due_at === undefined) this.#reportGivenUp(delivery, failure);
    this.#attempts += 1;
    if (failure || this.#attempts % TRIM_EVERY === 0) await this.#trim();
  }

  /** Bounds the outbox. */
  async #trim(): Promise<void> {
    const { store, webhook, maxWaiting, onError } = this.#options;
    const trim = change(approvalTables, "trimDeliveries", { webhook: webhook.name, most: maxWaiting });
    const [trimmed] = await store.commit([trim], { durable: false });
    if (trimmed === 0) return;
    const why = `more than ${maxWaiting} wait`;
    onError(new Error(`${trimmed} deliveries to the webhook "${webhook.name}" were given up: ${why}`));
  }

  #pause({ retryAfter = 0 }: Failure): void {
    this.#failures += 1;
    const backoff = exponentialBackoff({ firstMs: FIRST_PAUSE_MS, mostMs: LONGEST_WAIT_MS }, this.#failures);
    this.#cancelPause = this.#options.clock.after(Math.max(backoff, retryAfter), () => {
      this.#cancelPause = undefined;
      this.wake();
    });
  }

  #reportGivenUp({ id, change: { approval } }: Delivery, { error }: Failure): void {
    const { webhook, onError } = this.#options;
    const what = `the delivery ${id} to the webhook "${webhook.name}", of the approval ${approval.id}`;
    onError(new Error(`${what}, was given up after ${MAX_ATTEMPTS} attempts: ${error}`));
  }

  /** Why an attempt failed; nothing when it did not. */
  async #attempt({ id, change: made }: Delivery): Promise<Failure | undefined> {
    const { clock, webhook, post } = this.#options;
    const { seq, at, entry, approval } = made;
    const sent = webhook.details
      ? Object(restoredJson(made))
      : { seq, at, entry, approval: withheld(approval) };
    const body = JSON.stringify({ type: "approval", delivery: id, ...sent });
    const stop = new AbortController();
    this.#stop = stop;
    const inTime = clock.after(ATTEMPT_MS, () => stop.abort(new Error(`no answer in ${ATTEMPT_MS} ms`)));
    try {
      const { status, retryAfter } = await post(webhook.url, {
        headers: {
          "Content-Type": "application/json",
          "Reins-Delivery": String(id),
          [SIGNATURE_HEADER]: sign(body, webhook.secret, clock.now()),
        },
        body,
        signal: stop.signal,
      });
      if (status >= 200 && status < 300) return undefined;
      return { error: `the answer was ${status}`, retryAfter: retryAfterMs(retryAfter, clock.now()) };
    } catch (error) {
      return { error: reasonOf(error) };
    } finally {
      inTime();
      this.#stop = undefined;
    }
  }

  #dueAfter(attempts: number): string | undefined {
    if (attempts >= MAX_ATTEMPTS) return undefined;
    const pause = exponentialBackoff({ firstMs: FIRST_PAUSE_MS, mostMs: LONGEST_PAUSE_MS }, attempts);
    return new Date(this.#options.clock.now().getTime() + pause).toISOString();
  }
}

/** The innermost message, which says most: "fetch failed" has a cause. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.cause instanceof Error) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return errorMessage(error).slice(0, MAX_ERROR);
}

/** What deliveries need. */
export interface DeliveriesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly webhooks: readonly Webhook[];
  readonly post: Post | undefined;
  /** How many may wait for one webhook. */
  readonly maxWaiting: number | undefined;
  readonly onError: (error: unknown) => void;
}

const MAX_WAITING = 10_000;

/** Sends what waits in the outbox, each webhook on its own, so that a slow one delays no other. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #lanes: readonly Lane[];

  constructor(options: DeliveriesOptions) {
    expectUsable(options.webhooks);
    this.#options = options;
    const post = options.post ?? postOverHttp;
    const { maxWaiting = MAX_WAITING } = options;
    this.#lanes = options.webhooks.map((webhook) => new Lane({ ...options, post, maxWaiting, webhook }));
  }

  /** Resumes what an earlier process left. What it left for webhooks that are gone, or are another tenant's, is given up. */
  async start(): Promise<void> {
    const webhooks = this.#options.webhooks.map(({ name, tenant }) => ({ name, tenant }));
    const left = await this.#options.store.query(approvalTables, "deliveries", {
      state: "waiting",
      limit: 1,
    });
    if (left.length > 0)
      await this.#options.store.commit([change(approvalTables, "abandon", { webhooks })], { durable: false });
    this.wake();
  }

  /** There may be something to send. */
  wake(): void {
    for (const lane of this.#lanes) lane.wake();
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }
}

/** An address that receives every change. */
export interface Webhook {
  /** Known by this across restarts. */
  readonly name: string;
  readonly url: string;
  /** Signs what is sent; at least 16 characters. */
  readonly secret: string;
  /** The tenant whose changes it receives; by default those of all. */
  readonly tenant?: string | undefined;
  /** Whether it receives what is asked, without secrets, and not only that something is. */
  readonly details?: boolean | undefined;
}

const SHORTEST_SECRET = 16;

/** Refuses webhooks that cannot be used. */
export function expectUsable(webhooks: readonly Webhook[]): void {
  const names = new Set<string>();
  for (const { name, url, secret } of webhooks) {
    const fault = faultOf(url, secret) ?? (names.has(name) ? "there are two of that name" : undefined);
    if (fault !== undefined) throw new SupervisorError("invalid", `the webhook "${name}": ${fault}`);
    names.add(name);
  }
}

/** The names of the webhooks that receive the changes of a tenant. */
export function webhooksFor(webhooks: readonly Webhook[], tenant: string): string[] {
  return webhooks
    .filter((webhook) => webhook.tenant === undefined || webhook.tenant === tenant)
    .map(({ name }) => name);
}

function faultOf(url: string, secret: string): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed || (parsed.protocol !== "https:" && parsed.protocol !== "http:"))
    return "its address is not one of http or https";
  if (parsed.username !== "" || parsed.password !== "") return "its address holds a password; sign instead";
  return secret.length < SHORTEST_SECRET
    ? `its secret has fewer than ${SHORTEST_SECRET} characters`
    : undefined;
}

/** The header that carries the signature. */
export const SIGNATURE_HEADER = "Reins-Signature";

/** The value of the header: when it was signed, in seconds since 1970, and HMAC-SHA256 of that, a dot and the body. */
export function sign(body: string, secret: string, now: Date): string {
  const time = Math.floor(now.getTime() / 1_000);
  return `t=${time},v1=${digest(time, body, secret).toString("hex")}`;
}

/** HMAC-SHA256 of a time, a dot and a body. */
function digest(time: number, body: string | Uint8Array, secret: string): Buffer {
  return createHmac("sha256", secret).update(`${time}.`).update(body).digest();
}

/** A message on its way. */
interface Posting {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** What counts of a receiver's response; its body never does. */
interface Posted {
  readonly status: number;
  /** The value of `Retry-After`, as it was sent. */
  readonly retryAfter?: string | undefined;
}

/** Posts a message. Rejects when there is no response. */
export type Post = (url: string, posting: Posting) => Promise<Posted>;

/** Posts over HTTP. Redirects are not followed: a signed message reaches the configured address or none. */
export const postOverHttp: Post = async (url, { headers, body, signal }) => {
  const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
  // The status has arrived; a body that breaks off or cannot be decoded changes nothing about it.
  await response.body?.cancel().catch(() => undefined);
  return { status: response.status, retryAfter: response.headers.get("retry-after") ?? undefined };
};
