import { type JsonObject, reinsMeta } from "@reins/acp";
import { blake3Hex } from "@reins/ledger";
import { DEFAULT_TENANT, type Principal } from "@reins/supervisor";
import type { SessionRecord } from "./session-record.ts";

/** What a new session is made from. */
export interface NewSession {
  readonly agent: string;
  readonly principal: Principal;
  readonly channel: string;
  readonly peer: string;
  readonly created: Date;
  readonly cwd: string;
  /** The key that its client chose, instead of one made from agent, channel and peer. */
  readonly key?: string | undefined;
  /** The agent of the roster as which it acts, where that is another than the one behind it. */
  readonly acts_as?: string | undefined;
}

/**
 * The record of a session before its agent knows it. Its id is derived from the agent, the key and the start; two tenants
 * may use the same names at the same moment, so the key of any but the default one has its tenant before it.
 */
export function newSessionRecord({
  agent,
  principal,
  channel,
  peer,
  created,
  cwd,
  acts_as,
  key = `${acts_as ?? agent}:${channel}:${peer}`,
}: NewSession): SessionRecord {
  const created_at = created.toISOString();
  const { tenant } = principal;
  const place = tenant === DEFAULT_TENANT ? key : `${tenant}/${key}`;
  return {
    id: blake3Hex(`${acts_as ?? agent}:${place}:${created_at}`),
    key,
    agent,
    ...(acts_as !== undefined && { acts_as }),
    tenant,
    user: principal.user,
    principal: principal.id,
    agent_session_id: "",
    cwd,
    additional_directories: [],
    mode: "persistent",
    state: "idle",
    title: undefined,
    metadata: {},
    created_at,
    last_activity: created_at,
  };
}

/** The key that a client chooses for a session, and the agent of the roster as which it acts. */
export interface Naming {
  readonly key?: string;
  readonly acts_as?: string;
}

const LONGEST_KEY = 256;
const LONGEST_AGENT = 128;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
/** Chains that the harness names itself: its own, and those of sessions over AHP or ACP. */
const RESERVED = /^(?:reins:|[^:]*:(?:ahp|acp):)/;

/** The names that `_meta.reins` chooses for a session. Who may act as an agent is not decided here. */
export function namingIn(params: JsonObject): Naming {
  const { key, acts_as } = reinsMeta(params);
  return { ...(key !== undefined && { key }), ...(acts_as !== undefined && { acts_as }) };
}

/** Whether a session stays awake between turns; undefined if `_meta.reins` does not say. */
export function daemonIn(meta: unknown): boolean | undefined {
  return reinsMeta({ _meta: meta }).daemon;
}

/** What wakes a session that stays awake, beside messages; undefined if `_meta.reins` does not say. */
export function wakesIn(meta: unknown): SessionRecord["wakes"] {
  const { watch_paths: paths, wake_interval_ms: given } = reinsMeta({ _meta: meta });
  const watch_paths = (Array.isArray(paths) ? paths : [])
    .filter((path): path is string => typeof path === "string")
    .slice(0, MOST_WATCHED);
  const interval_ms = given === undefined ? undefined : Math.max(LEAST_INTERVAL_MS, Math.ceil(given));
  if (watch_paths.length === 0 && interval_ms === undefined) return undefined;
  return {
    ...(watch_paths.length > 0 && { watch_paths }),
    ...(interval_ms !== undefined && { interval_ms }),
  };
}

const MOST_WATCHED = 64;
const LEAST_INTERVAL_MS = 1_000;

/** Why a name that a client chose is invalid. A key names a chain of the ledger, so none may imitate another's. */
export function namingFault({ key, acts_as }: Naming): string | undefined {
  if (acts_as !== undefined && !isPlain(acts_as, LONGEST_AGENT))
    return `an agent's name has 1 to ${LONGEST_AGENT} characters that can be shown`;
  if (key === undefined) return undefined;
  if (!isPlain(key, LONGEST_KEY)) return `a session key has 1 to ${LONGEST_KEY} characters that can be shown`;
  if (key.includes("/")) return "a session key holds no slash: what precedes one names a tenant";
  return RESERVED.test(key) ? `the session key "${key}" has a form that only Reins itself gives` : undefined;
}

function isPlain(text: string, longest: number): boolean {
  return text !== "" && text.length <= longest && text.isWellFormed() && !UNPRINTABLE.test(text);
}
