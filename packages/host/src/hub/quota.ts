import { CODE, RpcError } from "@reins/acp";
import { LruCache } from "@reins/kit";
import { type Principal, QuotaError } from "@reins/supervisor";
import { sessionTables } from "../sessions/tables.ts";
import type { HubContext } from "./context.ts";

/** How old a measure of what a tenant stores may be. */
const MEASURE_MS = 60_000;
const MOST_TENANTS = 1_000;

type Measured = Pick<HubContext, "harness" | "log" | "clock">;

/** Holds the sessions and prompts of principals and tenants to their quotas, whichever protocol they come by. */
export class SessionQuotas {
  readonly #hub: Measured;
  readonly #stored = new LruCache<string, { readonly at: number; readonly bytes: Promise<number> }>({
    entries: MOST_TENANTS,
  });

  constructor(hub: Measured) {
    this.#hub = hub;
  }

  /** Runs a request, if it is within the quotas of its principal. */
  async run(principal: Principal, method: string, handle: () => Promise<unknown>): Promise<unknown> {
    // A prompt of the operator starts in the order of its arrival.
    if (method === "session/prompt" && this.#hub.harness.quotas.bounds("prompts", principal))
      await this.#checked(() => this.#prompt(principal));
    if (method !== "session/new" && method !== "session/fork") return handle();
    const release = await this.#checked(() => this.#session(principal));
    try {
      return await handle();
    } finally {
      release();
    }
  }

  async #prompt(principal: Principal): Promise<void> {
    this.#hub.harness.quotas.take("prompts", principal);
    await this.#storage(principal);
  }

  /** Counts a session that is being started, until it is stored. */
  async #session(principal: Principal): Promise<() => void> {
    const { quotas, store } = this.#hub.harness;
    if (!quotas.bounds("sessions", principal)) return () => {};
    await this.#storage(principal);
    const { tenant, id } = principal;
    return quotas.hold(
      "sessions",
      principal,
      await store.query(sessionTables, "countOpen", { tenant, principal: id }),
    );
  }

  async #storage(principal: Principal): Promise<void> {
    const { quotas } = this.#hub.harness;
    if (!quotas.bounds("stored_bytes", principal)) return;
    quotas.require("stored_bytes", principal, {
      principal: 0,
      tenant: await this.#storedBy(principal.tenant),
    });
  }

  #storedBy(tenant: string): Promise<number> {
    const now = this.#hub.clock.now().getTime();
    const known = this.#stored.get(tenant);
    if (known && Math.abs(now - known.at) < MEASURE_MS) return known.bytes;
    const bytes = this.#hub.log.stored(tenant);
    this.#stored.set(tenant, { at: now, bytes });
    bytes.catch(() => this.#stored.delete(tenant));
    return bytes;
  }

  async #checked<Result>(check: () => Promise<Result>): Promise<Result> {
    try {
      return await check();
    } catch (error) {
      throw quotaRpcError(error);
    }
  }
}

/** Maps a quota that has no more to an error of JSON-RPC. */
export function quotaRpcError(error: unknown): unknown {
  if (!(error instanceof QuotaError)) return error;
  const { message, quota, retryAfterMs } = error;
  return new RpcError(
    CODE.quotaExceeded,
    message,
    { quota, retry_after_ms: Math.ceil(retryAfterMs) },
    { cause: error },
  );
}
