import { isObject, type JsonObject } from "@reins/acp";
import type { BridgeMethod } from "./methods.ts";

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
