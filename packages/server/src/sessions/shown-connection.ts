import type { Connection } from "@reins/api";
import type { ConnectionRecord } from "../connections/connection-record.ts";

/** A connection as it is shown. */
export function shownConnection(
  { record, streams }: { readonly record: ConnectionRecord; readonly streams: number },
  expires: Date,
): Connection {
  const { id, dialect, principal, agent, sessions, created_at, last_seen } = record;
  return {
    id,
    dialect,
    principal,
    ...(agent !== undefined && { agent }),
    sessions: Object.keys(sessions),
    streams,
    created_at,
    last_seen,
    expires_at: expires.toISOString(),
  };
}
