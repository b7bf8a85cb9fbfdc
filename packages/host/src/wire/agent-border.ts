import type { Channel } from "../acp/channel.ts";
import { isObject, type JsonObject, sort } from "../acp/message.ts";
import { CODE } from "../acp/rpc-error.ts";

/** Methods that only Reins speaks; the one question in the older form is for agents. */
const OURS = /^\s*_(?:reins|sandboxagent)(?:\/|$)/i;
const FOR_AGENTS = new Set(["_sandboxagent/session/request_question"]);

/** Members of `_meta` that only Reins writes. */
const OUR_META = /^\s*(?:reins|sandboxagent\.dev)(?:$|[./:])/i;

/** What a tool is given and gives is data: it is decided and shown exactly, and nobody looks for Reins in it. */
const DATA = new Set(["rawInput", "rawOutput"]);

/** Nothing that means anything is nested deeper. */
const DEEPEST = 256;

/**
 * A channel to an agent from which nothing comes that could pass for Reins: our methods do not arrive, and what only
 * Reins says in `_meta` is taken out, however deep. What Reins adds is added after this.
 */
export function borderedChannel(channel: Channel, onFault: (reason: string) => void): Channel {
  return {
    send: (message) => channel.send(message),
    onMessage: (listener) =>
      channel.onMessage((message) => {
        const { method, id } = message;
        if (typeof method !== "string" || !OURS.test(method) || FOR_AGENTS.has(method))
          return listener(withoutOurs(message));
        onFault(`the agent sent ${JSON.stringify(method.slice(0, 80))}, which only Reins may`);
        if (sort(message).kind !== "request") return undefined;
        const error = { code: CODE.methodNotFound, message: `"${method}" is not known here` };
        return channel.send({ jsonrpc: "2.0", id, error });
      }),
    closed: channel.closed,
  };
}

/** A message without what only Reins says; the very same where there is nothing of the kind. */
export function withoutOurs(message: JsonObject): JsonObject {
  return cleanedObject(message, 0);
}

function cleaned(value: unknown, depth: number): unknown {
  const isList = Array.isArray(value);
  if (!isList && !isObject(value)) return value;
  if (depth > DEEPEST) return null;
  if (!isList) return cleanedObject(value, depth);
  let changed: unknown[] | undefined;
  for (const [index, item] of value.entries()) {
    const clean = cleaned(item, depth + 1);
    if (clean === item) continue;
    changed ??= [...value];
    changed[index] = clean;
  }
  return changed ?? value;
}

function cleanedObject(value: JsonObject, depth: number): JsonObject {
  let changed: [string, unknown][] | undefined;
  const members = Object.entries(value);
  for (const [index, [name, member]] of members.entries()) {
    if (DATA.has(name) || typeof member !== "object" || member === null) continue;
    const own = name === "_meta" ? withoutOurMeta(member) : member;
    const clean = cleaned(own, depth + 1);
    if (clean === member) continue;
    changed ??= [...members];
    changed[index] = [name, clean];
  }
  return changed ? Object.fromEntries(changed) : value;
}

function withoutOurMeta(meta: object): object {
  const members = Object.entries(meta);
  const others = members.filter(([name]) => !OUR_META.test(name));
  return others.length === members.length ? meta : Object.fromEntries(others);
}
