import { isObject, type JsonObject } from "@reins/acp";
import { unwrapped } from "./bridge-port.ts";

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
