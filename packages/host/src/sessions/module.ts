import { parseStored, type TablesModule } from "@reins/store";
import type { SessionRecord } from "./session-record.ts";
import type { SessionRange } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE sessions (
       id TEXT PRIMARY KEY, key TEXT NOT NULL, tenant TEXT NOT NULL, agent TEXT NOT NULL, principal TEXT NOT NULL,
       state TEXT NOT NULL, last_activity TEXT NOT NULL, body TEXT NOT NULL
     ) STRICT;
     CREATE INDEX sessions_by_activity ON sessions (tenant, last_activity DESC);
     CREATE INDEX sessions_by_key ON sessions (tenant, key)`,
  ],
  open(database) {
    // The key and the tenant of a session never change, so that updating it leaves the index of them alone.
    const put = database.prepare(
      `INSERT INTO sessions (id, key, tenant, agent, principal, state, last_activity, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
         agent = excluded.agent, principal = excluded.principal, state = excluded.state,
         last_activity = excluded.last_activity, body = excluded.body`,
    );
    const get = database.prepare("SELECT body FROM sessions WHERE id = ? AND tenant = ?");
    const byKey = database.prepare(
      "SELECT body FROM sessions WHERE tenant = ? AND key = ? ORDER BY last_activity DESC LIMIT 1",
    );
    const list = database.prepare(
      `SELECT body FROM sessions
       WHERE tenant = @tenant AND (@agent IS NULL OR agent = @agent) AND (@state IS NULL OR state = @state)
         AND (@principal IS NULL OR principal = @principal) AND (@cwd IS NULL OR body ->> '$.cwd' = @cwd)
         AND (@parent IS NULL OR body ->> '$.parent' = @parent) AND (@open = 0 OR body ->> '$.ended' IS NULL)
         AND (@mode IS NULL OR body ->> '$.mode' = @mode) AND (@before IS NULL OR last_activity < @before)
         AND (@after IS NULL OR (last_activity, id) < (SELECT last_activity, id FROM sessions WHERE id = @after AND tenant = @tenant))
       ORDER BY last_activity DESC, id DESC LIMIT @limit`,
    );
    const countOpen = database.prepare<{ readonly tenant: number; readonly principal: number }>(
      `SELECT count(*) AS tenant, coalesce(sum(CASE WHEN principal = @principal THEN 1 ELSE 0 END), 0) AS principal FROM sessions
       WHERE tenant = @tenant AND body ->> '$.ended' IS NULL`,
    );
    const agents = database.prepare<{ readonly agent: string }>(
      "SELECT DISTINCT agent FROM sessions WHERE tenant = ? AND body ->> '$.ended' IS NULL ORDER BY agent",
    );
    // A sealed text says with which key: `v1.<key>.…`
    const sealedWithKeys = database.prepare(
      `SELECT body FROM sessions WHERE id > ? AND substr(body ->> '$.sealed_servers', 4, 8) IN
         (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
    );
    const write = (record: SessionRecord): void => {
      const { id, key, tenant, agent, principal, state, last_activity } = record;
      put.run(id, key, tenant, agent, principal, state, last_activity, JSON.stringify(record));
    };
    return {
      changes: {
        put: write,
      },
      queries: {
        get: ({ id, tenant }: { id: string; tenant: string }) => recordIn(get.get(id, tenant)),
        byKey: ({ key, tenant }: { key: string; tenant: string }) => recordIn(byKey.get(tenant, key)),
        countOpen: (args: { tenant: string; principal: string }) =>
          countOpen.get(args) ?? { tenant: 0, principal: 0 },
        agents: ({ tenant }: { tenant: string }) => agents.all(tenant).map(({ agent }) => agent),
        sealedWithKeys: ({ keys, after, limit }: { keys: readonly string[]; after: string; limit: number }) =>
          sealedWithKeys.all(after, JSON.stringify(keys), limit).map(recordIn),
        list({ open = false, ...range }: SessionRange) {
          const narrowed = { mode: null, before: null, parent: null };
          const all = { agent: null, state: null, principal: null, cwd: null, after: null, ...narrowed };
          return list.all({ ...all, ...defined(range), open: Number(open) }).map(recordIn);
        },
      },
    };
  },
};

export default module;

function defined(range: object): object {
  return Object.fromEntries(Object.entries(range).filter(([, value]) => value !== undefined));
}

function recordIn(row: unknown): unknown {
  return typeof row === "object" && row !== null && "body" in row ? parseStored(String(row.body)) : undefined;
}
