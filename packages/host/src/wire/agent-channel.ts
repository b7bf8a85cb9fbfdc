import { type Channel, CODE, classify, isObject, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { type AgentLaunch, sessionMeta } from "@reins/agents";
import { type Clock, Inactivity } from "@reins/kit";
import { REFUSED } from "../control/outcome.ts";

/** A message of ACP that passes by: between a client and Reins, or between Reins and an agent. */
export interface Passing {
  readonly edge: "client" | "agent";
  /** As Reins sees it. */
  readonly direction: "in" | "out";
  readonly tenant: string;
  /** The session it is about, as Reins calls it, where the message says so. */
  readonly session: string | undefined;
  /** The connection or the process at the other end. */
  readonly peer: string;
  readonly agent: string | undefined;
  /** Exactly as it passed, secrets included: for memory alone. */
  readonly message: JsonObject;
}

/** Sees every message that passes by. Must be quick, and must neither throw nor change anything. */
export type WireTap = (passing: Passing) => void;

/** A channel whose messages are observed. */
export function tappedChannel(
  channel: Channel,
  see: (direction: Passing["direction"], message: JsonObject) => void,
): Channel {
  return {
    send: (message) => {
      see("out", message);
      return channel.send(message);
    },
    onMessage: (listener) =>
      channel.onMessage((message) => {
        see("in", message);
        return listener(message);
      }),
    closed: channel.closed,
  };
}

/** The session that a message names. */
export function sessionNamedIn({ params, result }: JsonObject): string | undefined {
  const { sessionId = isObject(result) ? result.sessionId : undefined } = isObject(params) ? params : {};
  return typeof sessionId === "string" ? sessionId : undefined;
}

/** The members of methods that are decided by some of them: no other is forwarded, because it was not decided. */
const DECIDED_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["session/prompt", ["prompt"]],
  ["session/close", []],
  ["session/delete", []],
  ["session/set_mode", ["modeId"]],
  ["session/set_model", ["modelId"]],
  ["session/set_config_option", ["configId", "value", "type"]],
  ["session/cancel", []],
  ["authenticate", ["methodId"]],
  ["providers/set", ["providerId", "apiType", "baseUrl", "headers"]],
]);

/**
 * The parameters of a client's message that may reach the agent: without what in `_meta` would weaken its asking, and of
 * a change of settings only what is decided.
 */
export function forwardable(
  { strip }: Pick<AgentLaunch, "strip">,
  method: string,
  params: JsonObject,
): JsonObject {
  const { _meta, ...members } = params;
  const { meta } = _meta === undefined ? { meta: {} } : sessionMeta({ meta: {}, strip }, membersOf(_meta));
  const decided = DECIDED_MEMBERS.get(method);
  const kept = Object.entries(members).filter(
    ([name]) => !decided || name === "sessionId" || decided.includes(name),
  );
  return { ...Object.fromEntries(kept), ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

/** How long an agent that owes a response may send nothing, in milliseconds. */
export interface IdleTimeouts {
  readonly answerMs: number;
  /** For the end of a turn or of a login: a command, or a person, may take long without output. */
  readonly turnMs: number;
}

const IDLE_TIMEOUTS: IdleTimeouts = { answerMs: 3 * 60_000, turnMs: 60 * 60_000 };

const SLOW = new Set(["session/prompt", "authenticate"]);

export interface IdleTimeoutOptions {
  readonly label: string;
  readonly clock: Clock;
  readonly timeouts?: IdleTimeouts | undefined;
  /** Called once, after the channel has closed. */
  readonly onTimeout: () => void;
}

/**
 * A channel that closes when the agent owes a response and sends nothing for too long. It may work without limit as long
 * as it sends something, or waits for a response itself.
 */
export function withIdleTimeout(channel: Channel, options: IdleTimeoutOptions): Channel {
  const { label, clock, timeouts = IDLE_TIMEOUTS } = options;
  const owed = new Map<unknown, Inactivity>();
  /** The requests of the agent without a response. */
  const asked = new Set<unknown>();
  const closed = Promise.withResolvers<Error>();
  const close = (reason: Error) => {
    for (const id of [...owed.keys()]) settle(id);
    closed.resolve(reason);
  };
  const expect = (id: unknown, method: string) => {
    const milliseconds = SLOW.has(method) ? timeouts.turnMs : timeouts.answerMs;
    const onTimeout = () => {
      if (asked.size > 0) return expect(id, method);
      const message = `${label} has said nothing for ${milliseconds / 1_000} s, and owes an answer to ${method}`;
      close(new RpcError(CODE.internal, message));
      options.onTimeout();
    };
    owed.set(id, new Inactivity({ clock, milliseconds, onTimeout }));
  };
  const settle = (id: unknown) => {
    owed.get(id)?.end();
    owed.delete(id);
  };
  const received = (message: JsonObject) => {
    const classified = classify(message);
    if (classified.kind === "request") asked.add(classified.id);
    if (classified.kind === "result" || classified.kind === "error") settle(classified.id);
    for (const one of owed.values()) one.touch();
  };
  void channel.closed.then(close);
  return {
    closed: closed.promise,
    send: (message) => {
      const classified = classify(message);
      if (classified.kind === "result" || classified.kind === "error") asked.delete(classified.id);
      if (classified.kind !== "request") return channel.send(message);
      expect(classified.id, classified.method);
      return channel.send(message).catch((error: unknown) => {
        settle(classified.id);
        throw error;
      });
    },
    onMessage: (listener) =>
      channel.onMessage((message) => {
        received(message);
        return listener(message);
      }),
  };
}

/** The prefix of the ids of calls that Reins itself asks about. */
const OUR_CALLS = "reins-";

/** Input and output of a tool are data: decided and shown exactly, and not searched for names of Reins. */
const DATA = new Set(["rawInput", "rawOutput"]);

/** Nothing that means anything is nested deeper. */
const DEEPEST = 256;

export interface BorderOptions {
  /** Receives what was dropped. */
  readonly onFault: (reason: string) => void;
  /** Whether an agent replays a session, by its own name for it: then it also repeats what people said. */
  readonly replays: (agentSessionId: unknown) => boolean;
}

/**
 * A channel to an agent from which nothing comes that could pass for Reins or for a person: our methods and kinds of
 * updates are dropped, and what only Reins says in `_meta` and in errors is removed, however deep. What Reins adds is
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

/** Why a message of an agent is dropped. */
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

/** Names that are cached, and the longest of them: agents use the same few all the time. */
const MOST_CACHED = 1_000;
const LONGEST_CACHED = 100;

/** Caches what is found out about a name. */
function cached<Value>(find: (name: string) => Value): (name: string) => Value {
  const known = new Map<string, Value>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const value = find(name);
    if (known.size >= MOST_CACHED) known.clear();
    if (name.length <= LONGEST_CACHED) known.set(name, value);
    return value;
  };
}

/** Whether a member is the one that Reins writes into, or looks like it. */
const isMeta = cached((name) => name.length >= "_meta".length && foldName(name) === "_meta");

/** How Reins marks an answer that it gives in place of an agent. */
function isOurOutcome(name: string): boolean {
  return isOurName(name) || foldName(name) === "interrupted";
}

function withoutOurMeta(meta: object, isOurs: (name: string) => boolean): object {
  const members = Object.entries(meta);
  const others = members.filter(([name]) => !isOurs(name));
  return others.length === members.length ? meta : Object.fromEntries(others);
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const PRINTABLE = /^[\x21-\x7e]+$/;
const BEYOND_ASCII = /[^\x20-\x7e]/;

/** Characters that look alike. */
const ALIKE: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  l: "i",
};

/** The names that Reins keeps for itself: no agent speaks by a name that one of these is a word of. */
const OUR_WORDS: ReadonlySet<string> = new Set(["reins", "sandboxagent"].map(skeleton));

/** What only Reins sends to clients beside methods in its own namespaces. */
const OUR_METHODS = ["agent/idle", "agent/resume", "session/ended"];
/** Methods of ACP between clients and agents, which a custom method cannot repeat. */
const ACP_METHODS = [
  ...["session/update", "session/request_permission", "session/prompt", "session/cancel", "session/new"],
  ...["session/load", "session/resume", "session/fork", "session/close", "session/delete", "cancel_request"],
];
const TAKEN_METHODS: ReadonlySet<string> = new Set([...OUR_METHODS, ...ACP_METHODS].map(compact));
const OUR_METHOD_NAMES: ReadonlySet<string> = new Set(OUR_METHODS.map(compact));

/** The kinds of update that only Reins sends, and those that repeat what a person said. */
const OUR_KINDS: ReadonlySet<string> = new Set(
  ["worker_update", "skill_activated", "skill_deactivated", "skill_scope_tools"].map(compact),
);
const KINDS_OF_CLIENTS: ReadonlySet<string> = new Set(["user_message_chunk"].map(compact));

/** The one method in our namespaces that is for agents. */
const FOR_AGENTS: ReadonlySet<string> = new Set(["_sandboxagent/session/request_question"]);

/** A name as it is compared with ours: compatible forms are one, what cannot be seen is gone, and case does not count. */
function foldName(name: string): string {
  return name.normalize("NFKC").replace(INVISIBLE, "").toLowerCase().trim();
}

/**
 * Whether a name could be taken for one of Reins: a word of it is ours, or looks like it. After folding, names of
 * protocols are ASCII; a letter of another alphabet in one is there to look like something else.
 */
export function isOurName(name: string): boolean {
  const folded = foldName(name);
  if (BEYOND_ASCII.test(folded)) return true;
  const inWords = foldName(name.replace(/([a-z0-9])([A-Z])/g, "$1 $2"));
  return [folded, inWords].some((text) => wordsOf(text).some((word) => OUR_WORDS.has(skeleton(word))));
}

/** Whether a method could be taken for one that only Reins, or only ACP itself, speaks. */
export const isOurMethod = cached((method) => {
  if (FOR_AGENTS.has(method)) return false;
  if (!PRINTABLE.test(method) || isOurName(method)) return true;
  return (method.startsWith("_") ? TAKEN_METHODS : OUR_METHOD_NAMES).has(compact(method));
});

/** Whose words a kind of update carries: an agent's, those of people, or Reins's. */
function speakerOf(kind: unknown): "agent" | "client" | "reins" {
  return typeof kind === "string" ? speakerOfKind(kind) : "reins";
}

const speakerOfKind = cached((kind) => {
  if (!PRINTABLE.test(kind) || isOurName(kind)) return "reins";
  const letters = compact(kind);
  if (OUR_KINDS.has(letters)) return "reins";
  return KINDS_OF_CLIENTS.has(letters) ? "client" : "agent";
});

function wordsOf(folded: string): readonly string[] {
  return folded.split(/[^a-z0-9]+/);
}

/** The letters of a name, without what separates them. */
function compact(name: string): string {
  return skeleton(wordsOf(foldName(name)).join(""));
}

/** A word in which characters that look alike are one. */
function skeleton(word: string): string {
  return word.replace(/[013457l]/g, (character) => ALIKE[character] ?? character);
}
