import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "@reins/kit";
import type { HarnessConfig, HarnessInfo } from "../protocol/methods.ts";

/** How a server presents itself and what it insists on. */
export interface ServerOptions {
  /** Name, version and capabilities told in the handshake. */
  readonly info?: Partial<HarnessInfo>;
  /** The limits; given, they replace the defaults as a whole, and an absent limit is not enforced. */
  readonly config?: HarnessConfig;
  /**
   * Behaves exactly as the upstream implementation: unreadable messages are dropped, number ids are taken for
   * notifications, `jsonrpc` is not checked, errors carry no `data`, handlers have no deadline.
   */
  readonly compat?: boolean;
  /** Answers events, queries and batches only after a handshake. */
  readonly requireHandshake?: boolean;
  /** How long a handler may take before the event is decided against; by default `config.timeout_ms`. */
  readonly deadlineMs?: number;
  /** How many handshakes made over HTTP are remembered. */
  readonly sessionBound?: number;
  /** Told of every notification that was dropped, which its sender cannot be. */
  readonly onDropped?: (reason: string, text: string) => void;
  readonly clock?: Clock;
  /** Makes session tokens. */
  readonly newToken?: () => string;
}

/** {@link ServerOptions} with every default in place. */
export interface ServerSettings {
  readonly info: HarnessInfo;
  readonly config: HarnessConfig;
  readonly compat: boolean;
  readonly requireHandshake: boolean;
  /** `undefined` in compatibility mode. */
  readonly deadlineMs: number | undefined;
  readonly sessionBound: number;
  readonly onDropped: (reason: string, text: string) => void;
  readonly clock: Clock;
  readonly newToken: () => string;
}

const DEFAULT_INFO: HarnessInfo = {
  name: "ahp-server",
  version: "2.4.0",
  capabilities: [
    "pre_action",
    "post_action",
    "pre_prompt",
    "query",
    "batch",
    "run_lifecycle",
    "task_list",
    "verification",
  ],
};

const DEFAULT_CONFIG: HarnessConfig = { timeout_ms: 10_000, batch_size: 100, max_depth: 10 };
const DEFAULT_DEADLINE_MS = 10_000;
const DEFAULT_SESSION_BOUND = 10_000;

/** Fills in the defaults. */
export function settle(options: ServerOptions): ServerSettings {
  const config = options.config ?? DEFAULT_CONFIG;
  const compat = options.compat ?? false;
  return {
    info: { ...DEFAULT_INFO, ...options.info },
    config,
    compat,
    requireHandshake: options.requireHandshake ?? false,
    deadlineMs: compat ? undefined : (options.deadlineMs ?? config.timeout_ms ?? DEFAULT_DEADLINE_MS),
    sessionBound: options.sessionBound ?? DEFAULT_SESSION_BOUND,
    onDropped: options.onDropped ?? (() => {}),
    clock: options.clock ?? systemClock,
    newToken: options.newToken ?? (() => randomBytes(32).toString("base64url")),
  };
}
