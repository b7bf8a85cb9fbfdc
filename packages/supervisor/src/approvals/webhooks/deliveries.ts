import type { Clock } from "@reins/kit";
import type { Store } from "@reins/store";
import { change } from "@reins/store";
import { approvalTables } from "../tables.ts";
import { Lane } from "./lane.ts";
import { type Post, postOverHttp } from "./post.ts";
import { expectUsable, type Webhook } from "./webhook.ts";

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
