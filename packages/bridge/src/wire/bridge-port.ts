import { isObject, type JsonObject } from "@reins/acp";

/** Requests of an agent to its host, with the time that a host has to answer each. */
export const BRIDGE_DEADLINES_MS = {
  "host/capabilities": 5_000,
  "host/tools/list": 10_000,
  builtin_call: 300_000,
  "tool_search/query": 10_000,
  "skills/list": 10_000,
  "skills/fetch": 10_000,
  "skill/match": 5_000,
} as const;

/** A request of an agent to its host. */
export type BridgeMethod = keyof typeof BRIDGE_DEADLINES_MS;

/** Notifications of a host to the agent of a session. */
export const HOST_NOTIFICATIONS = [
  "cancel",
  "agent/resume",
  "user_message",
  "session/input",
  "agent/user_message",
  "skills/update",
  "host/tools/update",
] as const;

/** A notification of a host. */
export type HostNotification = (typeof HOST_NOTIFICATIONS)[number];

/** Requests of earlier versions of the protocol; they are answered as unknown methods. */
export const RETIRED_METHODS = ["tool/pre_use", "tool/post_use", "tool/request_approval"] as const;

/** Whether a method is a request of the bridge. */
export function isBridgeMethod(method: string): method is BridgeMethod {
  return Object.hasOwn(BRIDGE_DEADLINES_MS, method);
}

/** Whether a method is a notification of a host. */
export function isHostNotification(method: string): method is HostNotification {
  return HOST_NOTIFICATIONS.some((one) => one === method);
}

/** How an agent reaches the host of a session: the client that announced the bridge. */
export interface BridgePort {
  /**
   * Sends a request to the host and returns its result as received. Rejects with a {@link BridgeCallError} when the host
   * fails, and with the reason of the signal when that aborts.
   */
  call(sessionId: string, method: BridgeMethod, params: JsonObject, signal: AbortSignal): Promise<unknown>;
  /** Whether a client of the session offers a method, as far as that is known without asking. */
  offers?(sessionId: string, method: BridgeMethod): boolean;
  /** Calls a listener for each notification of the session's host until the returned function is called. */
  subscribe(sessionId: string, method: HostNotification, listener: (params: JsonObject) => void): () => void;
}

/** Why a request to a host failed. */
export type BridgeFault =
  /** No client of the session offers the bridge, or the host does not know the method. */
  | "no_host"
  /** The host refused to run the tool (-32001). */
  | "rejected"
  /** The host answered with another error. */
  | "failed"
  /** The host did not answer before the deadline of the method. */
  | "timeout"
  /** The connection closed before the host answered. */
  | "closed";

/** A failed request to a host. */
export class BridgeCallError extends Error {
  override readonly name = "BridgeCallError";
  readonly code: BridgeFault;

  constructor(code: BridgeFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Whether a client is a host: it says `_meta.reins.bridge` in its capabilities, which may list the methods that it answers,
 * or `_meta.harn`. With a method, whether it answers that.
 */
export function offersBridge(capabilities: JsonObject, method?: BridgeMethod): boolean {
  const bridge = memberOf(memberOf(memberOf(capabilities, "_meta"), "reins"), "bridge");
  if (bridge === undefined) return isOffered(memberOf(memberOf(capabilities, "_meta"), "harn"));
  const methods = memberOf(bridge, "methods");
  return Array.isArray(methods) ? method === undefined || methods.includes(method) : isOffered(bridge);
}

/** Whether a client speaks Harn and does not say which methods of the bridge it answers: it may answer none. */
export function announcesHarnOnly(capabilities: JsonObject | undefined): boolean {
  const meta = memberOf(capabilities, "_meta");
  return memberOf(memberOf(meta, "reins"), "bridge") === undefined && isOffered(memberOf(meta, "harn"));
}

function isOffered(capability: unknown): boolean {
  return capability !== undefined && capability !== null && capability !== false;
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The result of a host that wraps it once more, as `{ "result": … }`; of a reply in both forms, the wrapped one. */
export function unwrapped(reply: unknown): unknown {
  if (!isObject(reply) || !Object.hasOwn(reply, "result")) return reply;
  const { result } = reply;
  return typeof result === "object" && result !== null ? result : reply;
}

/** The kinds of options that ACP knows. */
type OptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

/** An option of a permission request. */
interface Option {
  readonly optionId: string;
  readonly kind: string;
}

/** What a client says to a permission request. */
export type PermissionReply =
  /** It permits the call: with these arguments instead, if it rewrites them. */
  | {
      readonly kind: "granted";
      readonly option: Extract<OptionKind, `allow_${string}`>;
      readonly args?: JsonObject;
    }
  | { readonly kind: "denied"; readonly reason?: string }
  | { readonly kind: "cancelled" }
  /** It names an option that was not offered. */
  | { readonly kind: "not_offered" }
  /** It says nothing that is known here. */
  | { readonly kind: "nothing" };

const MAX_REASON = 1_000;

/**
 * Reads the reply to `session/request_permission` in any of its forms: ACP's outcome, with or without an option, and
 * `granted` with arguments or a reason. What contradicts itself, or is malformed, denies.
 */
export function readPermissionReply(options: readonly Option[], reply: unknown): PermissionReply {
  const value = unwrapped(reply);
  if (!isObject(value)) return { kind: "nothing" };
  const { granted, args = null } = value;
  const reason = typeof value.reason === "string" ? value.reason.slice(0, MAX_REASON) : undefined;
  const denied: PermissionReply = { kind: "denied", ...(reason !== undefined && { reason }) };
  const said = sayingOf(granted);
  const chosen = value.outcome == null ? undefined : outcomeIn(options, value.outcome);
  if (said === undefined) {
    if (chosen?.kind === "denied") return denied;
    return withArgs(chosen ?? { kind: "nothing" }, args);
  }
  if (said === "denied") return denied;
  if (chosen && chosen.kind !== "granted") return denied;
  return withArgs(chosen ?? { kind: "granted", option: "allow_once" }, args);
}

/** What `granted` says; anything but true denies. */
function sayingOf(granted: unknown): "granted" | "denied" | undefined {
  if (granted === undefined || granted === null) return undefined;
  return granted === true ? "granted" : "denied";
}

/** What an outcome says. */
function outcomeIn(options: readonly Option[], outcome: unknown): PermissionReply {
  if (!isObject(outcome)) return { kind: "nothing" };
  const { outcome: word, optionId = null } = outcome;
  if (word === "cancelled") return { kind: "cancelled" };
  if (word !== "selected") return { kind: "nothing" };
  if (optionId === null) return { kind: "granted", option: "allow_once" };
  const chosen = options.find((one) => one.optionId === optionId)?.kind;
  if (chosen === undefined) return { kind: "not_offered" };
  return chosen === "allow_once" || chosen === "allow_always"
    ? { kind: "granted", option: chosen }
    : { kind: "denied" };
}

/** A grant with the arguments that the client wants instead. Arguments that are no object cannot be decided. */
function withArgs(reply: PermissionReply, args: unknown): PermissionReply {
  if (reply.kind !== "granted" || args === null) return reply;
  return isObject(args)
    ? { ...reply, args }
    : { kind: "denied", reason: "the rewritten arguments are no object" };
}
