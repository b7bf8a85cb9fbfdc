import type { TablesModule } from "@reins/store";
import type { RunRange, RunState } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE runs (
       tenant TEXT NOT NULL,
       run_id TEXT NOT NULL,
       contract TEXT NOT NULL,
       session_id TEXT NOT NULL,
       updated_at TEXT NOT NULL,
       payload TEXT NOT NULL,
       PRIMARY KEY (tenant, run_id, contract)
     ) STRICT;
     CREATE INDEX runs_by_session ON runs (tenant, session_id)`,
    "ALTER TABLE runs ADD COLUMN principal TEXT; ALTER TABLE runs ADD COLUMN user TEXT",
  ],
  open(database) {
    const put = database.prepare(
      `INSERT OR REPLACE INTO runs (tenant, run_id, contract, session_id, updated_at, payload, principal, user)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const find = database.prepare("SELECT * FROM runs WHERE tenant = ? AND run_id = ? ORDER BY contract");
    const list = database.prepare(
      `SELECT * FROM runs
       WHERE tenant = @tenant AND (@session IS NULL OR session_id = @session)
         AND (@principal IS NULL OR principal = @principal OR user = @user)
       ORDER BY updated_at DESC LIMIT @limit`,
    );
    return {
      changes: {
        put(state: RunState): void {
          const { tenant, run_id, contract, session_id, updated_at, payload, principal, user } = state;
          const what = [tenant, run_id, contract, session_id, updated_at, JSON.stringify(payload)];
          put.run(...what, principal, user);
        },
      },
      queries: {
        find: ({ tenant, run_id }: { tenant: string; run_id: string }) =>
          find.all(tenant, run_id).map(stateIn),
        list: ({ tenant, session_id: session = undefined, owner, limit }: RunRange) => {
          const { principal = null, user = null } = owner ?? {};
          return list.all({ tenant, session: session ?? null, principal, user, limit }).map(stateIn);
        },
      },
    };
  },
};

export default module;

function stateIn(row: unknown): unknown {
  if (typeof row !== "object" || row === null || !("payload" in row)) return row;
  return { ...row, payload: JSON.parse(String(row.payload)) };
}
