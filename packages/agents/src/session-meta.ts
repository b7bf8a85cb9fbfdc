import { isObject, type JsonObject } from "@reins/acp";
import type { AgentLaunch } from "./agent-launch.ts";
import { laidOver } from "./overlay.ts";

type Meta = Readonly<JsonObject>;

/** The `_meta` that goes to an agent with a session call, and what of the client's was taken out. */
export interface SessionMeta {
  readonly meta: Meta;
  /** The keys that were taken out, dots leading into objects. */
  readonly stripped: readonly string[];
}

/**
 * What a client sent with `session/new`, `load`, `resume` or `fork`, without what would weaken the agent's asking, and
 * with what the agent's profile says laid over it.
 */
export function sessionMeta(
  { meta, strip }: Pick<AgentLaunch, "meta" | "strip">,
  sent: Meta = {},
): SessionMeta {
  const stripped = strip.filter((key) => holds(sent, key.split(".")));
  const kept = stripped.reduce<Meta>((rest, key) => without(rest, key.split(".")), sent);
  return { meta: laidOver(kept, meta), stripped };
}

/** The choice of a setting as the protocol wants it: a yes or no says that it is one. */
export function typedOption(choice: JsonObject): JsonObject {
  return typeof choice.value === "boolean" ? { ...choice, type: "boolean" } : choice;
}

function holds(value: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return true;
  return isObject(value) && Object.hasOwn(value, key) && holds(value[key], rest);
}

function without(value: Meta, [key, ...rest]: readonly string[]): Meta {
  if (key === undefined) return value;
  const { [key]: inner, ...others } = value;
  return rest.length > 0 && isObject(inner) ? { ...others, [key]: without(inner, rest) } : others;
}
