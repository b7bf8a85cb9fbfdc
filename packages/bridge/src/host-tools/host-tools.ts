import { type Clock, errorMessage, LruCache, systemClock } from "@reins/kit";
import { BridgeCallError, type BridgePort } from "../wire/bridge-port.ts";
import { unwrapped } from "../wire/envelope.ts";
import { type HostTool, type HostToolList, readHostTools } from "./read-host-tools.ts";

/** How long a list is used, and how long a host that failed is not asked again. */
const FRESH_MS = 60_000;
const FAILED_MS = 30_000;
const MOST_SESSIONS = 1_000;

const NONE: HostToolList = { tools: [], warnings: [] };

interface Listed {
  readonly list: HostToolList;
  readonly until: number;
}

/** What a call of a host's tool needs. */
export interface HostToolCall {
  readonly sessionId: string;
  readonly signal: AbortSignal;
  /** The call that permission was asked for. */
  readonly toolCallId?: string | undefined;
}

/** The tools that the hosts of sessions lend. A list is cached until the host says that it changed, or for a minute. */
export class HostTools {
  readonly #bridge: BridgePort;
  readonly #clock: Pick<Clock, "now">;
  readonly #listed = new LruCache<string, Listed>({ entries: MOST_SESSIONS });
  /** The sessions whose host is asked to report changes, with what unsubscribes. */
  readonly #subscribed = new Map<string, () => void>();

  constructor(bridge: BridgePort, clock: Pick<Clock, "now"> = systemClock) {
    this.#bridge = bridge;
    this.#clock = clock;
  }

  /** The tools that the host of a session lends. A host that fails lends none, with a warning; a missing one without. */
  async hostToolList(sessionId: string, signal: AbortSignal): Promise<HostToolList> {
    this.#subscribe(sessionId);
    const known = this.#listed.get(sessionId);
    if (known && known.until > this.#now()) return known.list;
    try {
      const list = readHostTools(await this.#bridge.call(sessionId, "host/tools/list", {}, signal));
      this.#keep(sessionId, list, FRESH_MS);
      return list;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BridgeCallError && error.code === "no_host") return NONE;
      const list = { tools: [], warnings: [errorMessage(error)] };
      this.#keep(sessionId, list, FAILED_MS);
      return list;
    }
  }

  /** Has the host of a session run a tool; rejects with a {@link BridgeCallError} when it fails. */
  async hostToolCall(name: HostTool["name"], args: unknown, call: HostToolCall): Promise<unknown> {
    const { sessionId, signal, toolCallId } = call;
    const params = { name, args: [args], ...(toolCallId !== undefined && { toolCallId }) };
    return unwrapped(await this.#bridge.call(sessionId, "builtin_call", params, signal));
  }

  /** Forgets the tools of a session, whose host has others now. */
  invalidate(sessionId: string): void {
    this.#listed.delete(sessionId);
  }

  /** Forgets a session. */
  forget(sessionId: string): void {
    this.invalidate(sessionId);
    this.#subscribed.get(sessionId)?.();
    this.#subscribed.delete(sessionId);
  }

  #subscribe(sessionId: string): void {
    if (this.#subscribed.has(sessionId)) return;
    const unsubscribe = this.#bridge.subscribe(sessionId, "host/tools/update", () =>
      this.invalidate(sessionId),
    );
    this.#subscribed.set(sessionId, unsubscribe);
    const [oldest] = this.#subscribed.size > MOST_SESSIONS ? this.#subscribed.keys() : [];
    if (oldest !== undefined) this.forget(oldest);
  }

  #keep(sessionId: string, list: HostToolList, milliseconds: number): void {
    this.#listed.set(sessionId, { list, until: this.#now() + milliseconds });
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

const MAX_TEXT = 1024 * 1024;

/** The result of a host's tool as a model reads it. */
export function hostToolText(result: unknown): string {
  const text = typeof result === "string" ? result : (JSON.stringify(result) ?? "(nothing)");
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n[cut here]` : text;
}

/** The description of a host's tool as a model reads it. */
export function hostToolDescription({ description, deprecated }: HostTool): string {
  return deprecated ? `[deprecated] ${description}`.trim() : description;
}
