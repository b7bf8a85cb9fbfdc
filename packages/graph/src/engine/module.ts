import type { TablesModule } from "@reins/store";
import type { JournalRow, StoredRun } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE graph_runs (
       run TEXT PRIMARY KEY,
       input TEXT NOT NULL,
       canceled INTEGER NOT NULL DEFAULT 0,
       ended TEXT
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX graph_runs_unfinished ON graph_runs (run) WHERE ended IS NULL;
     CREATE TABLE graph_entries (
       run TEXT NOT NULL,
       name TEXT NOT NULL,
       value TEXT NOT NULL,
       PRIMARY KEY (run, name)
     ) STRICT, WITHOUT ROWID`,
    // What was stored before is not sealed.
    "DELETE FROM graph_entries; DELETE FROM graph_runs",
  ],
  open(database) {
    const create = database.prepare("INSERT OR IGNORE INTO graph_runs (run, input) VALUES (@run, @input)");
    const append = database.prepare(
      "INSERT OR IGNORE INTO graph_entries (run, name, value) VALUES (@run, @name, @value)",
    );
    const cancel = database.prepare("UPDATE graph_runs SET canceled = 1 WHERE run = @run AND ended IS NULL");
    const end = database.prepare("UPDATE graph_runs SET ended = @end WHERE run = @run AND ended IS NULL");
    const reopen = database.prepare("UPDATE graph_runs SET ended = NULL WHERE run = @run");
    const load = database.prepare<{ input: string; canceled: number; ended: string | null }>(
      "SELECT input, canceled, ended FROM graph_runs WHERE run = ?",
    );
    const entries = database.prepare<{ name: string; value: string }>(
      "SELECT name, value FROM graph_entries WHERE run = ?",
    );
    const unfinished = database.prepare<{ run: string }>(
      "SELECT run FROM graph_runs WHERE ended IS NULL ORDER BY run",
    );
    const renewEntry = database.prepare(
      "UPDATE graph_entries SET value = @value WHERE run = @run AND name = @name",
    );
    const renewEnd = database.prepare("UPDATE graph_runs SET ended = @value WHERE run = @run");
    const forgetEntries = database.prepare(
      "DELETE FROM graph_entries WHERE run IN (SELECT value FROM json_each(?))",
    );
    const forgetRuns = database.prepare(
      "DELETE FROM graph_runs WHERE run IN (SELECT value FROM json_each(?))",
    );
    const beginningWith = database.prepare<JournalRow>(
      `SELECT run, name, value FROM graph_entries
         WHERE substr(value, 1, @length) IN (SELECT value FROM json_each(@beginnings))
       UNION ALL SELECT run, NULL AS name, ended AS value FROM graph_runs
         WHERE substr(ended, 1, @length) IN (SELECT value FROM json_each(@beginnings))
       LIMIT @limit`,
    );
    return {
      changes: {
        create: (args: { run: string; input: string }) => void create.run(args),
        append: (args: { run: string; name: string; value: string }) => void append.run(args),
        cancel: (args: { run: string }) => void cancel.run(args),
        end: (args: { run: string; end: string }) => void end.run(args),
        reopen: (args: { run: string }) => void reopen.run(args),
        renew: ({ name, ...row }: JournalRow) =>
          void (name === null ? renewEnd.run(row) : renewEntry.run({ ...row, name })),
        forget({ runs }: { runs: readonly string[] }): void {
          const ids = JSON.stringify(runs);
          forgetEntries.run(ids);
          forgetRuns.run(ids);
        },
      },
      queries: {
        load({ run }: { run: string }): StoredRun | undefined {
          const row = load.get(run);
          if (!row) return undefined;
          return {
            input: row.input,
            isCanceled: row.canceled === 1,
            end: row.ended,
            entries: entries.all(run).map(({ name, value }) => [name, value] as const),
          };
        },
        unfinished: () => unfinished.all().map(({ run }) => run),
        beginningWith: ({ beginnings, limit }: { beginnings: readonly string[]; limit: number }) =>
          beginningWith.all({
            ...{ limit, length: beginnings[0]?.length ?? 0 },
            beginnings: JSON.stringify(beginnings),
          }),
      },
    };
  },
};

export default module;
