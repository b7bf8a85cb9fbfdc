import { isObject, type JsonObject, metaOf } from "@reins/acp";
import { isBridgeMethod, offersBridge } from "@reins/bridge";
import type { AgentProfile } from "../control/scope.ts";
import { isOurMethod, isOurName } from "../wire/agent-channel.ts";

/** Methods that any agent may know without announcing them; its sessions announce modes, options and models. */
const BASELINE: ReadonlySet<string> = new Set([
  "session/set_mode",
  "session/set_config_option",
  "session/set_model",
  "authenticate",
]);

/** Whether a method is a custom one of ACP, and not reserved to Reins. */
export function isCustom(method: string): boolean {
  return method.startsWith("_") && !isOurMethod(method);
}

/** The methods of ACP by which agents may inform clients beside updates. */
export const AGENT_NOTIFICATIONS: ReadonlySet<string> = new Set([
  "elicitation/complete",
  "auth/status_update",
]);

/** Whether an agent may notify clients by a method, beside updates of a session. */
export function mayNotify(method: string): boolean {
  return isCustom(method) || AGENT_NOTIFICATIONS.has(method);
}

/**
 * Whether an agent may know a method, by what it said of itself: an optional one of ACP by its capability, a custom one by
 * its namespace in some `_meta`. No person is asked about a method that it does not know.
 */
export function mayKnow(
  method: string,
  { methods }: Pick<AgentProfile, "methods">,
  initialized: JsonObject,
): boolean {
  if (isOurName(method)) return false;
  if (methods) return methods.has(method);
  if (BASELINE.has(method)) return true;
  const { agentCapabilities: capabilities } = initialized;
  const [group = "", ...rest] = method.split("/");
  const name = rest.join("/");
  const ofSessions = ["sessionCapabilities"];
  if (method.startsWith("_"))
    return [initialized, capabilities, memberAt(capabilities, ofSessions)].some((one) =>
      isNamedIn(one, method),
    );
  if (method === "logout") return isOffered(capabilities, ["auth", "logout"]);
  if (group === "session")
    return [name, name.replace(/^un/, "")].some((one) => isOffered(capabilities, [...ofSessions, one]));
  return name !== "" && isOffered(capabilities, [group]);
}

/** What a client has to have offered for an agent's request; every client answers permission requests. */
const CLIENT_CAPABILITIES: ReadonlyMap<string, readonly string[]> = new Map([
  ["session/request_permission", []],
  ["fs/read_text_file", ["fs", "readTextFile"]],
  ["fs/write_text_file", ["fs", "writeTextFile"]],
  ["terminal/create", ["terminal"]],
  ["terminal/output", ["terminal"]],
  ["terminal/wait_for_exit", ["terminal"]],
  ["terminal/kill", ["terminal"]],
  ["terminal/release", ["terminal"]],
  ["_sandboxagent/session/request_question", ["_meta", "sandboxagent.dev"]],
]);

/**
 * Whether a client offered, when it introduced itself, to answer a request of an agent. A form or an address that a
 * person is to open are offered apart; a custom method by its namespace in `_meta`, as are the methods of the bridge;
 * nothing else is.
 */
export function clientOffers(capabilities: JsonObject, method: string, params: JsonObject): boolean {
  const path =
    method === "elicitation/create"
      ? ["elicitation", String(params.mode ?? "form")]
      : CLIENT_CAPABILITIES.get(method);
  if (path) return path.length === 0 || isOffered(capabilities, path);
  if (isBridgeMethod(method)) return offersBridge(capabilities, method);
  return isCustom(method) && isNamedIn(capabilities, method);
}

/** Whether the `_meta` of what one side says of itself names a custom method, or its namespace. */
function isNamedIn(said: unknown, method: string): boolean {
  const meta = metaOf(said);
  const [namespace = ""] = method.slice(1).split("/");
  return Object.hasOwn(meta, namespace) || JSON.stringify(meta).includes(JSON.stringify(method));
}

/** Whether capabilities have a member that says yes. */
function isOffered(capabilities: unknown, path: readonly string[]): boolean {
  const capability = memberAt(capabilities, path);
  return capability !== undefined && capability !== null && capability !== false;
}

/** Methods are named by clients, so only what the other side itself said counts, and nothing that every object has. */
function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined),
    value,
  );
}
