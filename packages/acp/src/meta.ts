import type { z } from "zod";
import { isObject, type JsonObject } from "./json-rpc.ts";
import { looseSchemas } from "./schemas.ts";

/** The key of the Sandbox Agent profile in `_meta`. */
export const SANDBOX = "sandboxagent.dev";

const { text, flag, optionalObject, loose } = looseSchemas;

/**
 * What Reins and its clients say in `_meta.reins`. A member of another type reads as absent. An agent's own `_meta.reins`
 * never gets here: it is removed where its messages arrive.
 */
const ReinsMeta = loose({
  // By clients, in initialize, session/new and session/prompt.
  agent: text,
  mode: text,
  key: text,
  acts_as: text,
  daemon: flag,
  turns: flag,
  prompt: text,
  turn: text,
  // By Reins, about a verdict.
  verdict: text,
  entry: text,
  rule: text,
  reason: text,
  enforcement: text,
  ungated: flag,
  outcome: text,
  interrupted: flag,
  modified_arguments: optionalObject,
  // By Reins, about a question to a person.
  approval: text,
  expires_at: text,
  child_session: text,
  child_agent: text,
  // By Reins, in the data of an error.
  code: text,
});

export type ReinsMeta = z.output<typeof ReinsMeta>;

const NONE: ReinsMeta = Object.freeze(ReinsMeta.parse({}));

/** Reads `_meta.reins` of params, a result, an update or a tool call: `const { agent } = reinsMeta(params)`. */
export function reinsMeta(holder: unknown): ReinsMeta {
  const reins = metaOf(holder).reins;
  return isObject(reins) ? ReinsMeta.parse(reins) : NONE;
}

/** Reads `reins` in the data of an error. */
export function reinsData(data: unknown): ReinsMeta {
  return reinsMeta({ _meta: data });
}

/** A copy of params, a result or an update with members added to its `_meta.reins`; all else stays. */
export function withReinsMeta<Holder extends JsonObject>(
  holder: Holder,
  members: JsonObject,
): Holder & { _meta: JsonObject } {
  const meta = metaOf(holder);
  const before = isObject(meta.reins) ? meta.reins : {};
  return { ...holder, _meta: { ...meta, reins: { ...before, ...members } } };
}

/** What a client of the Sandbox Agent profile says in `_meta`. */
export function sandboxMeta(holder: unknown): JsonObject {
  const members = metaOf(holder)[SANDBOX];
  return isObject(members) ? members : {};
}

/** All members of `_meta`. */
export function metaOf(holder: unknown): JsonObject {
  const meta = isObject(holder) ? holder._meta : undefined;
  return isObject(meta) ? meta : {};
}
