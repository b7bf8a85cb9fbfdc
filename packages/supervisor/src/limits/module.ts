import type { TablesModule } from "@reins/store";
import type { Use } from "./usage.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE limit_uses (id TEXT PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
     CREATE INDEX limit_uses_by_time ON limit_uses (at)`,
  ],
  open(database) {
    const keep = database.prepare("INSERT OR REPLACE INTO limit_uses (id, at, body) VALUES (?, ?, ?)");
    const forget = database.prepare("DELETE FROM limit_uses WHERE at < ?");
    const since = database.prepare("SELECT body FROM limit_uses WHERE at >= ? ORDER BY at");
    return {
      changes: {
        keep({ uses }: { uses: readonly Use[] }): void {
          for (const use of uses) keep.run(use.id, use.at, JSON.stringify(use));
        },
        forget({ before }: { before: number }): void {
          forget.run(before);
        },
      },
      queries: {
        since: ({ at }: { at: number }) => since.all(at).map(useIn),
      },
    };
  },
};

export default module;

function useIn(row: unknown): unknown {
  return typeof row === "object" && row !== null && "body" in row ? JSON.parse(String(row.body)) : undefined;
}
