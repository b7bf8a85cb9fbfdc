import type { TablesModule } from "@reins/store";
import type { DeclaredRunChanges, DeclaredRunRange, StoredDeclaredRun } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE declared_runs (
       seq INTEGER PRIMARY KEY AUTOINCREMENT,
       tenant TEXT NOT NULL,
       run TEXT NOT NULL,
       session TEXT NOT NULL,
       declared TEXT NOT NULL,
       state TEXT NOT NULL,
       is_over INTEGER NOT NULL DEFAULT 0,
       UNIQUE (tenant, run)
     ) STRICT;
     CREATE INDEX declared_runs_of_session ON declared_runs (tenant, session, seq);
     CREATE INDEX declared_runs_open ON declared_runs (seq) WHERE is_over = 0;
     CREATE TABLE declared_turns (
       seq INTEGER PRIMARY KEY AUTOINCREMENT,
       tenant TEXT NOT NULL,
       session TEXT NOT NULL,
       turn TEXT NOT NULL
     ) STRICT;
     CREATE INDEX declared_turns_of_session ON declared_turns (tenant, session, seq)`,
  ],
  open(database) {
    const create = database.prepare(
      `INSERT OR IGNORE INTO declared_runs (tenant, run, session, declared, state)
       VALUES (@tenant, @run, @session, @declared, @state)`,
    );
    const update = database.prepare(
      `UPDATE declared_runs SET state = @state, is_over = @isOver, declared = coalesce(@declared, declared)
       WHERE tenant = @tenant AND run = @run`,
    );
    const turn = database.prepare(
      "INSERT INTO declared_turns (tenant, session, turn) VALUES (@tenant, @session, @turn)",
    );
    const get = database.prepare<StoredDeclaredRun>(
      "SELECT declared, state FROM declared_runs WHERE tenant = ? AND run = ?",
    );
    const withGraph = database.prepare<{ run: string }>(
      "SELECT run FROM declared_runs WHERE tenant = ? AND run IN (SELECT value FROM json_each(?))",
    );
    const list = database.prepare<StoredDeclaredRun>(
      `SELECT declared, state FROM declared_runs
       WHERE tenant = @tenant AND (@session IS NULL OR session = @session) ORDER BY seq DESC LIMIT @limit`,
    );
    const open = database.prepare<StoredDeclaredRun>(
      "SELECT declared, state FROM declared_runs WHERE is_over = 0 ORDER BY seq",
    );
    const turns = database.prepare<{ turn: string }>(
      "SELECT turn FROM declared_turns WHERE tenant = ? AND session = ? ORDER BY seq",
    );
    return {
      changes: {
        create: (args: Parameters<DeclaredRunChanges["create"]>[0]) => create.run(args).changes > 0,
        update: ({ isOver, ...args }: Parameters<DeclaredRunChanges["update"]>[0]) =>
          void update.run({ ...args, isOver: Number(isOver) }),
        turn: (args: Parameters<DeclaredRunChanges["turn"]>[0]) => void turn.run(args),
      },
      queries: {
        get: ({ tenant, run }: { tenant: string; run: string }) => get.get(tenant, run),
        withGraph: ({ tenant, runs }: { tenant: string; runs: readonly string[] }) =>
          withGraph.all(tenant, JSON.stringify(runs)).map(({ run }) => run),
        list: ({ session, ...range }: DeclaredRunRange) => list.all({ ...range, session: session ?? null }),
        open: () => open.all(),
        turns: ({ tenant, session }: { tenant: string; session: string }) =>
          turns.all(tenant, session).map(({ turn: stored }) => stored),
      },
    };
  },
};

export default module;
