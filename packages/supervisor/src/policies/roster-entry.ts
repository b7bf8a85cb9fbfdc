import type { Draft } from "@reins/ledger";
import type { RosterEntry } from "@reins/policy";
import { actorOf, type Principal } from "../identity/principal.ts";

/** A change of the roster, for the record. */
export interface RosterChange {
  readonly before: RosterEntry | undefined;
  readonly after: RosterEntry;
  /** Of the whole file as it becomes. */
  readonly roster_hash: string;
}

/** The entry of a change of the roster. Members that nobody here knows are named, not told. */
export function rosterDraft(by: Principal, { before, after, roster_hash }: RosterChange): Draft {
  const { id, kind, user, tenant, started } = by;
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after)]);
  const members = [...names].filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after[name]));
  return {
    quality: "policy_change",
    actor: actorOf(by),
    target: after.session_id,
    tags: ["roster"],
    payload: {
      change: before ? "agent_changed" : "agent_added",
      agent: after.session_id,
      members,
      before: before ? known(before) : null,
      after: known(after),
      roster_hash,
      by: { principal: id, kind, user, tenant, started },
    },
  };
}

function known({ kind = null, state = null, mandate = null }: Record<string, unknown>): unknown {
  return { kind, state, mandate };
}
