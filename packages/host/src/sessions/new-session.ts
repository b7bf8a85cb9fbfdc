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
  /** The key that whoever begins it chose, in place of one made from agent, channel and peer. */
  readonly key?: string | undefined;
  /** The agent of the roster as which it acts, where that is another than the one behind it. */
  readonly acts_as?: string | undefined;
}

/**
 * A session before its agent has heard of it. Its id follows from who it is with, its key and when it was begun; two
 * tenants may use the same names at the same moment, so the key of any but the default one has its tenant before it.
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
