import { isObject } from "@reins/acp";

/** The result of a host that wraps it once more, as `{ "result": … }`; of a reply in both forms, the wrapped one. */
export function unwrapped(reply: unknown): unknown {
  if (!isObject(reply) || !Object.hasOwn(reply, "result")) return reply;
  const { result } = reply;
  return typeof result === "object" && result !== null ? result : reply;
}
