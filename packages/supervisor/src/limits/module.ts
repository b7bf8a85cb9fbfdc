import { parseStored, StoreError, type TablesModule } from "@reins/store";
import { type BoundedUse, leastOf, plus, type Usage, type Use } from "./tables.ts";

/** More than come in between two times, and few enough that a verdict need not wait for them. */
const FORGOTTEN_AT_ONCE = 5_000;

const USAGES = ["calls", "tokens", "cost", "time_ms"] as const;

const module: TablesModule = {
  migrations: [
    `CREATE TABLE limit_uses (id TEXT PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
     CREATE INDEX limit_uses_by_time ON limit_uses (at)`,
    // By what uses are summed up where several nodes count against a limit.
    {
      sqlite: "SELECT 1",
      postgres:
        "CREATE INDEX limit_uses_by_holder ON limit_uses ((body ->> '$.limit'), (body ->> '$.holder'), at)",
    },
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
    const of = database.prepare<{ readonly body: string }>(
      "SELECT body FROM limit_uses WHERE body ->> '$.limit' = ? AND body ->> '$.holder' = ? AND at > ? ORDER BY at",
    );
    const usesOf = ({ limit, holder, since }: { limit: string; holder: string; since: number }): Use[] =>
      of.all(limit, holder, since).map(({ body }) => parseStored<Use>(body));
    return {
      changes: {
        admit({ uses }: { uses: readonly BoundedUse[] }): void {
          for (const { use, bound } of uses) {
            const used = usesOf({ ...use, since: bound.since }).reduce<Usage>(plus, leastOf(use));
            if (USAGES.some((name) => used[name] > (bound[name] ?? Number.POSITIVE_INFINITY)))
              throw new StoreError("exhausted", `the limit "${use.limit}" is used up`);
            keep.run(use.id, use.at, JSON.stringify(use));
          }
        },
        keep({ uses }: { uses: readonly Use[] }): void {
          for (const use of uses) keep.run(use.id, use.at, JSON.stringify(use));
        },
        forget({ tenant, before }: { tenant: string; before: number }): void {
          forget.run(before, tenant);
        },
      },
      queries: {
        of: usesOf,
        since: ({ at }: { at: number }) => since.all(at).map(({ body }) => parseStored<Use>(body)),
      },
    };
  },
};

export default module;
