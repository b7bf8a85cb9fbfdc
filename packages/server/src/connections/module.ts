import type { TablesModule } from "@reins/store";
import type { ConnectionRange, ConnectionRecord } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE connections (
       id TEXT PRIMARY KEY, tenant TEXT NOT NULL, principal TEXT NOT NULL, created_at TEXT NOT NULL, last_seen TEXT NOT NULL,
       body TEXT NOT NULL
     ) STRICT;
     CREATE INDEX connections_by_principal ON connections (tenant, principal);
     CREATE INDEX connections_by_age ON connections (tenant, created_at DESC);
     CREATE INDEX connections_by_last_seen ON connections (last_seen)`,
  ],
  open(database) {
    const put = database.prepare(
      `INSERT INTO connections (id, tenant, principal, created_at, last_seen, body) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, principal = excluded.principal,
         created_at = excluded.created_at, last_seen = excluded.last_seen, body = excluded.body`,
    );
    const remove = database.prepare("DELETE FROM connections WHERE id = ?");
    const expire = database.prepare("DELETE FROM connections WHERE last_seen < ? RETURNING id");
    const get = database.prepare("SELECT body FROM connections WHERE id = ?");
    const list = database.prepare(
      `SELECT body FROM connections
       WHERE tenant = @tenant AND (@principal IS NULL OR principal = @principal)
         AND (@after IS NULL OR (created_at, id) < (SELECT created_at, id FROM connections WHERE id = @after AND tenant = @tenant))
       ORDER BY created_at DESC, id DESC LIMIT @limit`,
    );
    const count = database.prepare(
      "SELECT count(*) AS count FROM connections WHERE tenant = ? AND principal = ?",
    );
    return {
      changes: {
        put(record: ConnectionRecord): void {
          const { id, tenant, principal, created_at, last_seen } = record;
          put.run(id, tenant, principal, created_at, last_seen, JSON.stringify(record));
        },
        remove: ({ id }: { id: string }) => void remove.run(id),
        expire: ({ before }: { before: string }) =>
          expire.all(before).map((row) => String(memberOf(row, "id"))),
      },
      queries: {
        get: ({ id }: { id: string }) => recordIn(get.get(id)),
        list: ({ tenant, principal = undefined, after = undefined, limit }: ConnectionRange) =>
          list.all({ tenant, principal: principal ?? null, after: after ?? null, limit }).map(recordIn),
        count: ({ tenant, principal }: { tenant: string; principal: string }) =>
          Number(memberOf(count.get(tenant, principal), "count")),
      },
    };
  },
};

export default module;

function recordIn(row: unknown): unknown {
  const body = memberOf(row, "body");
  return body === undefined ? undefined : JSON.parse(String(body));
}

function memberOf(row: unknown, name: string): unknown {
  return typeof row === "object" && row !== null ? Reflect.get(row, name) : undefined;
}
