import type { TablesModule } from "@reins/store";
import type { SessionRecord } from "./session-record.ts";
import type { SessionRange } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE sessions (
       id TEXT PRIMARY KEY, key TEXT NOT NULL, tenant TEXT NOT NULL, agent TEXT NOT NULL, principal TEXT NOT NULL,
       state TEXT NOT NULL, last_activity TEXT NOT NULL, body TEXT NOT NULL
     ) STRICT;
     CREATE INDEX sessions_by_activity ON sessions (tenant, last_activity DESC);
     CREATE INDEX sessions_by_key ON sessions (tenant, key, last_activity DESC)`,
  ],
  open(database) {
    const put = database.prepare(
      "INSERT OR REPLACE INTO sessions (id, key, tenant, agent, principal, state, last_activity, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    const get = database.prepare("SELECT body FROM sessions WHERE id = ? AND tenant = ?");
    const byKey = database.prepare(
      "SELECT body FROM sessions WHERE tenant = ? AND key = ? AND state <> 'closed' ORDER BY last_activity DESC LIMIT 1",
    );
    const list = database.prepare(
      `SELECT body FROM sessions
       WHERE tenant = ? AND (? IS NULL OR agent = ?) AND (? IS NULL OR state = ?) AND (? IS NULL OR principal = ?)
       ORDER BY last_activity DESC LIMIT ?`,
    );
    return {
      changes: {
        put(record: SessionRecord): void {
          const { id, key, tenant, agent, principal, state, last_activity } = record;
          put.run(id, key, tenant, agent, principal, state, last_activity, JSON.stringify(record));
        },
      },
      queries: {
        get: ({ id, tenant }: { id: string; tenant: string }) => recordIn(get.get(id, tenant)),
        byKey: ({ key, tenant }: { key: string; tenant: string }) => recordIn(byKey.get(tenant, key)),
        list({ tenant, agent = null, state = null, principal = null, limit }: Nullable<SessionRange>) {
          return list.all(tenant, agent, agent, state, state, principal, principal, limit).map(recordIn);
        },
      },
    };
  },
};

export default module;

type Nullable<Type> = { [Name in keyof Type]: Type[Name] | null };

function recordIn(row: unknown): unknown {
  return typeof row === "object" && row !== null && "body" in row ? JSON.parse(String(row.body)) : undefined;
}
