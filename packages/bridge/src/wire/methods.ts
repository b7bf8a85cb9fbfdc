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
