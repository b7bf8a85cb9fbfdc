import type { TablesModule } from "@reins/store";
import type { DeclaredRunChanges, StoredDeclaredRun, StoredTurnRow } from "./tables.ts";

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
    // What was stored before is not sealed, and says not when.
    `DELETE FROM declared_runs;
     DELETE FROM declared_turns;
     DROP INDEX declared_runs_open;
     ALTER TABLE declared_runs DROP COLUMN is_over;
     ALTER TABLE declared_runs ADD COLUMN ended_at TEXT;
     CREATE INDEX declared_runs_open ON declared_runs (seq) WHERE ended_at IS NULL;
     CREATE INDEX declared_runs_ended ON declared_runs (ended_at) WHERE ended_at IS NOT NULL;
     ALTER TABLE declared_turns ADD COLUMN at TEXT NOT NULL DEFAULT '';
     CREATE INDEX declared_turns_at ON declared_turns (at)`,
    // Runs are listed by their reports.
    "DROP INDEX declared_runs_of_session",
  ],
  open(database) {
    const create = database.prepare(
      `INSERT OR IGNORE INTO declared_runs (tenant, run, session, declared, state)
       VALUES (@tenant, @run, @session, @declared, @state)`,
    );
    const update = database.prepare(
      `UPDATE declared_runs SET state = @state, ended_at = @endedAt, declared = coalesce(@declared, declared)
       WHERE tenant = @tenant AND run = @run`,
    );
    const turn = database.prepare(
      "INSERT INTO declared_turns (tenant, session, turn, at) VALUES (@tenant, @session, @turn, @at)",
    );
    const get = database.prepare<StoredDeclaredRun>(
      "SELECT tenant, run, declared, state FROM declared_runs WHERE tenant = ? AND run = ?",
    );
    const withGraph = database.prepare<{ run: string }>(
      "SELECT run FROM declared_runs WHERE tenant = ? AND run IN (SELECT value FROM json_each(?))",
    );
    const open = database.prepare<StoredDeclaredRun>(
      "SELECT tenant, run, declared, state FROM declared_runs WHERE ended_at IS NULL ORDER BY seq",
    );
    const turns = database.prepare<{ turn: string }>(
      "SELECT turn FROM declared_turns WHERE tenant = ? AND session = ? ORDER BY seq",
    );
    const renewRun = database.prepare(
      "UPDATE declared_runs SET declared = @declared, state = @state WHERE tenant = @tenant AND run = @run",
    );
    const renewTurn = database.prepare("UPDATE declared_turns SET turn = @turn WHERE seq = @seq");
    const forget = database.prepare("DELETE FROM declared_runs WHERE tenant = ? AND run = ?");
    const forgetTurns = database.prepare(
      "DELETE FROM declared_turns WHERE seq IN (SELECT seq FROM declared_turns WHERE at < ? ORDER BY at LIMIT ?)",
    );
    const endedBefore = database.prepare<StoredDeclaredRun>(
      `SELECT tenant, run, declared, state FROM declared_runs
       WHERE ended_at < @before ORDER BY ended_at LIMIT @limit`,
    );
    const sealedRuns = database.prepare<StoredDeclaredRun>(
      `SELECT tenant, run, declared, state FROM declared_runs
       WHERE substr(declared, 1, @length) IN (SELECT value FROM json_each(@beginnings))
          OR substr(state, 1, @length) IN (SELECT value FROM json_each(@beginnings)) LIMIT @limit`,
    );
    const sealedTurns = database.prepare<StoredTurnRow>(
      `SELECT seq, tenant, session, turn FROM declared_turns
       WHERE substr(turn, 1, @length) IN (SELECT value FROM json_each(@beginnings)) LIMIT @limit`,
    );
    return {
      changes: {
        create: (args: Parameters<DeclaredRunChanges["create"]>[0]) => create.run(args).changes > 0,
        update: (args: Parameters<DeclaredRunChanges["update"]>[0]) => void update.run(args),
        turn: (args: Parameters<DeclaredRunChanges["turn"]>[0]) => void turn.run(args),
        renewRun: (args: StoredDeclaredRun) => void renewRun.run(args),
        renewTurn: (args: Parameters<DeclaredRunChanges["renewTurn"]>[0]) => void renewTurn.run(args),
        forget({ runs }: Parameters<DeclaredRunChanges["forget"]>[0]): void {
          for (const { tenant, run } of runs) forget.run(tenant, run);
        },
        forgetTurns: ({ before, limit }: Parameters<DeclaredRunChanges["forgetTurns"]>[0]) =>
          forgetTurns.run(before, limit).changes,
      },
      queries: {
        get: ({ tenant, run }: { tenant: string; run: string }) => get.get(tenant, run),
        withGraph: ({ tenant, runs }: { tenant: string; runs: readonly string[] }) =>
          withGraph.all(tenant, JSON.stringify(runs)).map(({ run }) => run),
        open: () => open.all(),
        turns: ({ tenant, session }: { tenant: string; session: string }) =>
          turns.all(tenant, session).map(({ turn: stored }) => stored),
        endedBefore: (range: { before: string; limit: number }) => endedBefore.all(range),
        beginningWith({ beginnings, limit }: { beginnings: readonly string[]; limit: number }) {
          const length = beginnings[0]?.length ?? 0;
          const range = { length, limit, beginnings: JSON.stringify(beginnings) };
          return { runs: sealedRuns.all(range), turns: sealedTurns.all(range) };
        },
      },
    };
  },
};

export default module;
