import { parseStored, type TablesModule } from "@reins/store";
import type { Use } from "./tables.ts";

/** More than come in between two times, and few enough that a verdict need not wait for them. */
const FORGOTTEN_AT_ONCE = 5_000;

const module: TablesModule = {
  migrations: [
    `CREATE TABLE limit_uses (id TEXT PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
     CREATE INDEX limit_uses_by_time ON limit_uses (at)`,
  ],
  open(database) {
    const keep = database.prepare(
      `INSERT INTO limit_uses (id, at, body) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET at = excluded.at, body = excluded.body`,
    );
    const forget = database.prepare(
      `DELETE FROM limit_uses WHERE id IN (
         SELECT id FROM limit_uses WHERE at < ? AND body ->> '$.holder' ->> 0 = ? ORDER BY at LIMIT ${FORGOTTEN_AT_ONCE}
       )`,
    );
    const since = database.prepare<{ readonly body: string }>(
      "SELECT body FROM limit_uses WHERE at >= ? ORDER BY at",
    );
    return {
      changes: {
        keep({ uses }: { uses: readonly Use[] }): void {
          for (const use of uses) keep.run(use.id, use.at, JSON.stringify(use));
        },
        forget({ tenant, before }: { tenant: string; before: number }): void {
          forget.run(before, tenant);
        },
      },
      queries: {
        since: ({ at }: { at: number }) => since.all(at).map(({ body }) => parseStored<Use>(body)),
      },
    };
  },
};

export default module;
