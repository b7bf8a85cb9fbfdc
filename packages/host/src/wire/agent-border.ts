import { type Channel, CODE, classify, isObject, type JsonObject, membersOf } from "@reins/acp";
import { REFUSED } from "../control/verdict-wire.ts";
import { foldName, isOurMethod, isOurName, speakerOf } from "./reserved-names.ts";

/** The ids of calls that Reins itself asks about begin so. */
const OUR_CALLS = "reins-";

/** What a tool is given and gives is data: it is decided and shown exactly, and nobody looks for Reins in it. */
const DATA = new Set(["rawInput", "rawOutput"]);

/** Nothing that means anything is nested deeper. */
const DEEPEST = 256;

/** What the border asks of the governor. */
export interface BorderOptions {
  /** Told of what did not pass. */
  readonly onFault: (reason: string) => void;
  /** Whether an agent is telling a session again, by its own name for it: then it also repeats what people said. */
  readonly replays: (agentSessionId: unknown) => boolean;
}

/**
 * A channel to an agent from which nothing comes that could pass for Reins or for a person: our methods and kinds of
 * updates do not arrive, and what only Reins says in `_meta` and in errors is taken out, however deep. What Reins adds is
 * added after this.
 */
export function borderedChannel(channel: Channel, options: BorderOptions): Channel {
  return {
    send: (message) => channel.send(message),
    onMessage: (listener) =>
      channel.onMessage((message) => {
        const { method, id } = message;
        const fault = typeof method === "string" ? faultOf(method, message, options) : undefined;
        if (fault === undefined) return listener(withoutOurs(message));
        options.onFault(`the agent sent ${fault}`);
        if (classify(message).kind !== "request") return undefined;
        const error = { code: CODE.methodNotFound, message: `"${String(method)}" is not known here` };
        return channel.send({ jsonrpc: "2.0", id, error });
      }),
    closed: channel.closed,
  };
}

/** What is wrong with a message of an agent that may not pass at all. */
function faultOf(method: string, { params }: JsonObject, { replays }: BorderOptions): string | undefined {
  if (isOurMethod(method)) return `${quoted(method)}, which only Reins may`;
  if (method !== "session/update") return undefined;
  const { sessionId, update } = membersOf(params);
  if (!isObject(update)) return "an update that is no object";
  const { sessionUpdate } = update;
  const speaker = speakerOf(sessionUpdate);
  if (speaker === "reins") return `an update ${quoted(sessionUpdate)}, which only Reins may`;
  // Only the name itself, which the governor knows: one that looks like it is never a replay.
  const isReplay = sessionUpdate === "user_message_chunk" && replays(sessionId);
  return speaker === "client" && !isReplay
    ? `an update ${quoted(sessionUpdate)}, which repeats a person outside of a replay`
    : undefined;
}

function quoted(name: unknown): string {
  return (JSON.stringify(name) ?? "without a kind").slice(0, 80);
}

/** A message without what only Reins says; the very same where there is nothing of the kind. */
export function withoutOurs(message: JsonObject): JsonObject {
  return withOwnCalls(withOwnError(cleanedObject(message, 0)));
}

/** An agent fails neither by the code nor with the data by which Reins refuses and interrupts. */
function withOwnError(message: JsonObject): JsonObject {
  const { error } = message;
  if (!isObject(error)) return message;
  const { code, data } = error;
  const own = isObject(data) ? withoutOurMeta(data, isOurOutcome) : data;
  if (code !== REFUSED && own === data) return message;
  return {
    ...message,
    error: {
      ...error,
      code: code === REFUSED ? CODE.internal : code,
      ...(data !== undefined && { data: own }),
    },
  };
}

/** Calls of an agent are not named like those that Reins itself asks about. */
function withOwnCalls(message: JsonObject): JsonObject {
  const { params } = message;
  if (!isObject(params)) return message;
  const renamed: JsonObject = {};
  if (isOurCall(params)) renamed.toolCallId = `agent-${params.toolCallId}`;
  for (const name of ["update", "toolCall"]) {
    const holder = params[name];
    if (isObject(holder) && isOurCall(holder))
      renamed[name] = { ...holder, toolCallId: `agent-${holder.toolCallId}` };
  }
  return Object.keys(renamed).length > 0 ? { ...message, params: { ...params, ...renamed } } : message;
}

function isOurCall(holder: JsonObject): holder is JsonObject & { toolCallId: string } {
  return typeof holder.toolCallId === "string" && holder.toolCallId.startsWith(OUR_CALLS);
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
    const own = isMeta(name) ? withoutOurMeta(member, isOurName) : member;
    const clean = cleaned(own, depth + 1);
    if (clean === member) continue;
    changed ??= [...members];
    changed[index] = [name, clean];
  }
  return changed ? Object.fromEntries(changed) : value;
}

/** Whether a member is the one that Reins writes into, or looks like it. */
function isMeta(name: string): boolean {
  return name === "_meta" || (name.length >= "_meta".length && foldName(name) === "_meta");
}

/** How Reins marks an answer that it gives in place of an agent. */
function isOurOutcome(name: string): boolean {
  return isOurName(name) || foldName(name) === "interrupted";
}

function withoutOurMeta(meta: object, isOurs: (name: string) => boolean): object {
  const members = Object.entries(meta);
  const others = members.filter(([name]) => !isOurs(name));
  return others.length === members.length ? meta : Object.fromEntries(others);
}
