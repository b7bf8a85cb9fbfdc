import type { TablesModule } from "@reins/store";
import { daemonIn } from "./naming.ts";
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
    // What was kept before as it is, still to be sealed; gone when nothing of it is left in the files.
    `CREATE TABLE sessions_plain (id TEXT PRIMARY KEY, done INTEGER NOT NULL DEFAULT 0) STRICT;
     INSERT INTO sessions_plain (id) SELECT id FROM sessions`,
    // Every turn changes when a session was last active; an index without it stays as it is.
    `DROP INDEX sessions_by_key;
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
         AND (@open = 0 OR body ->> '$.ended' IS NULL)
         AND (@mode IS NULL OR body ->> '$.mode' = @mode) AND (@before IS NULL OR last_activity < @before)
         AND (@after IS NULL OR (last_activity, id) < (SELECT last_activity, id FROM sessions WHERE id = @after AND tenant = @tenant))
       ORDER BY last_activity DESC, id DESC LIMIT @limit`,
    );
    const plain = database.prepare(
      "SELECT s.body FROM sessions_plain p JOIN sessions s ON s.id = p.id WHERE p.done = 0 LIMIT ?",
    );
    // A sealed text says with which key: `v1.<key>.…`
    const sealedWithKeys = database.prepare(
      `SELECT body FROM sessions WHERE id > ? AND substr(body ->> '$.sealed_servers', 4, 8) IN
         (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
    );
    const anyPlain = database.prepare("SELECT 1 FROM sessions_plain LIMIT 1");
    const done = database.prepare("UPDATE sessions_plain SET done = 1 WHERE id = ?");
    const write = (record: SessionRecord): void => {
      const { id, key, tenant, agent, principal, state, last_activity } = record;
      put.run(id, key, tenant, agent, principal, state, last_activity, JSON.stringify(record));
    };
    return {
      changes: {
        put: write,
        seal(record: SessionRecord): void {
          write(record);
          done.run(record.id);
        },
        forgetPlain: () => void database.exec("DELETE FROM sessions_plain"),
      },
      queries: {
        get: ({ id, tenant }: { id: string; tenant: string }) => recordIn(get.get(id, tenant)),
        byKey: ({ key, tenant }: { key: string; tenant: string }) => recordIn(byKey.get(tenant, key)),
        plain: ({ limit }: { limit: number }) => plain.all(limit).map((row) => plainIn(recordIn(row))),
        sealedWithKeys: ({ keys, after, limit }: { keys: readonly string[]; after: string; limit: number }) =>
          sealedWithKeys.all(after, JSON.stringify(keys), limit).map(recordIn),
        hasPlain: () => anyPlain.get() !== undefined,
        list({ open = false, ...range }: SessionRange) {
          const narrowed = { mode: null, before: null };
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

/** A session of an earlier version, without what its client sent and nobody has a use for. */
function plainIn(record: unknown): unknown {
  const { meta, mcp_servers = [], ...rest } = Object(record);
  return { ...rest, mcp_servers, daemon: daemonIn(meta) ?? false };
}

function recordIn(row: unknown): unknown {
  return typeof row === "object" && row !== null && "body" in row ? JSON.parse(String(row.body)) : undefined;
}
