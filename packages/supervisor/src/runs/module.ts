import type { TablesModule } from "@reins/store";
import type { RunState } from "./tables.ts";

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
  ],
  open(database) {
    const put = database.prepare(
      "INSERT OR REPLACE INTO runs (tenant, run_id, contract, session_id, updated_at, payload) VALUES (?, ?, ?, ?, ?, ?)",
    );
    const find = database.prepare("SELECT * FROM runs WHERE tenant = ? AND run_id = ? ORDER BY contract");
    const list = database.prepare("SELECT * FROM runs WHERE tenant = ? ORDER BY updated_at DESC LIMIT ?");
    const ofSession = database.prepare(
      "SELECT * FROM runs WHERE tenant = ? AND session_id = ? ORDER BY updated_at DESC LIMIT ?",
    );
    return {
      changes: {
        put(state: RunState): void {
          const { tenant, run_id, contract, session_id, updated_at, payload } = state;
          put.run(tenant, run_id, contract, session_id, updated_at, JSON.stringify(payload));
        },
      },
      queries: {
        find: ({ tenant, run_id }: { tenant: string; run_id: string }) =>
          find.all(tenant, run_id).map(stateIn),
        list: ({ tenant, session_id, limit }: { tenant: string; session_id?: string; limit: number }) =>
          (session_id === undefined ? list.all(tenant, limit) : ofSession.all(tenant, session_id, limit)).map(
            stateIn,
          ),
      },
    };
  },
};

export default module;

function stateIn(row: unknown): unknown {
  if (typeof row !== "object" || row === null || !("payload" in row)) return row;
  return { ...row, payload: JSON.parse(String(row.payload)) };
}
