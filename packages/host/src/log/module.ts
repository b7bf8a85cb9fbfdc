import type { Database, TablesModule } from "@reins/store";
import type { LoggedEvent } from "./logged-event.ts";
import type { LogRange, Run, WrittenEvent } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE log_events (
       tenant TEXT NOT NULL, ord INTEGER NOT NULL, session TEXT NOT NULL, epoch INTEGER NOT NULL, at INTEGER NOT NULL,
       request TEXT, except_for TEXT, message TEXT NOT NULL, PRIMARY KEY (tenant, ord)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX log_events_by_session ON log_events (session, ord);
     CREATE INDEX log_events_by_time ON log_events (at);
     CREATE TABLE log_pruned (tenant TEXT NOT NULL, session TEXT NOT NULL, ord INTEGER NOT NULL, PRIMARY KEY (tenant, session))
     STRICT, WITHOUT ROWID;
     CREATE TABLE log_epochs (epoch INTEGER PRIMARY KEY) STRICT`,
  ],
  open(database) {
    const add = database.prepare(
      "INSERT INTO log_events (tenant, ord, session, epoch, at, request, except_for, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    // Leaps through the index from tenant to tenant.
    const lasts = database.prepare(
      `WITH RECURSIVE tenants (tenant) AS (
         SELECT min(tenant) FROM log_events
         UNION ALL SELECT (SELECT min(e.tenant) FROM log_events e WHERE e.tenant > tenants.tenant)
         FROM tenants WHERE tenant IS NOT NULL
       )
       SELECT tenant, max(ord) AS ord FROM (
         SELECT tenant, (SELECT max(e.ord) FROM log_events e WHERE e.tenant = tenants.tenant) AS ord FROM tenants
         UNION ALL SELECT tenant, ord FROM log_pruned
       ) WHERE tenant IS NOT NULL GROUP BY tenant`,
    );
    const begin = database.prepare(
      "INSERT INTO log_epochs (epoch) SELECT coalesce(max(epoch), 0) + 1 FROM log_epochs RETURNING epoch",
    );
    const lastOf = database.prepare(
      "SELECT ord FROM log_events WHERE tenant = ? AND epoch <= ? ORDER BY ord DESC LIMIT 1",
    );
    const prunedUntil = database.prepare("SELECT ord FROM log_pruned WHERE tenant = ? AND session = ?");
    const counts = database.prepare(
      `SELECT session, count(*) AS count FROM log_events
       WHERE session IN (SELECT value FROM json_each(?)) AND tenant = ? GROUP BY session`,
    );
    const prune = pruner(database);
    return {
      changes: {
        append({ runs }: { runs: readonly Run[] }): void {
          for (const { tenant, session, epoch, at, request, except, first, texts } of runs)
            for (const [index, text] of texts.entries())
              add.run(tenant, first + index, session, epoch, at, request ?? null, except ?? null, text);
        },
        begin: () => Number(membersOf(begin.get()).epoch),
        prune,
      },
      queries: {
        after: (range: LogRange) => eventsAfter(database, range).map(parsed),
        written: (range: LogRange) => eventsAfter(database, range),
        lasts: () => {
          const rows = lasts.all().map(membersOf);
          return new Map(rows.map(({ tenant, ord }) => [String(tenant), Number(ord)]));
        },
        lastOf: ({ tenant, epoch }: { tenant: string; epoch: number }) => orderIn(lastOf.get(tenant, epoch)),
        prunedUntil: ({ tenant, session }: { tenant: string; session: string }) =>
          orderIn(prunedUntil.get(tenant, session)),
        counts({ tenant, sessions }: { tenant: string; sessions: readonly string[] }) {
          const rows = counts.all(JSON.stringify(sessions), tenant).map(membersOf);
          return new Map(rows.map(({ session, count }) => [String(session), Number(count)]));
        },
      },
    };
  },
};

export default module;

function pruner(database: Database): (args: { before: number; limit: number }) => number {
  const doomed = database.prepare(
    "SELECT tenant, session, ord FROM log_events WHERE at < ? ORDER BY at, ord LIMIT ?",
  );
  const note = database.prepare(
    "INSERT INTO log_pruned (tenant, session, ord) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET ord = max(ord, excluded.ord)",
  );
  const remove = database.prepare("DELETE FROM log_events WHERE tenant = ? AND ord = ?");
  return ({ before, limit }) => {
    const rows = doomed.all(before, limit).map(membersOf);
    for (const { tenant, session, ord } of rows) {
      note.run(tenant, session, ord);
      remove.run(tenant, ord);
    }
    return rows.length;
  };
}

function parsed({ text, ...event }: WrittenEvent): LoggedEvent {
  return { ...event, message: JSON.parse(text) };
}

function eventsAfter(database: Database, { tenant, sessions, after, limit, size }: LogRange): WrittenEvent[] {
  const marks = sessions.map(() => "?").join(", ");
  const query = database.prepare(
    `SELECT ord, session, epoch, at, request, except_for, message FROM log_events
     WHERE session IN (${marks}) AND ord > ? AND tenant = ? ORDER BY ord LIMIT ?`,
  );
  const events: WrittenEvent[] = [];
  let total = 0;
  for (const row of query.all(...sessions, after, tenant, limit)) {
    const { ord, session, epoch, at, request, except_for, message } = membersOf(row);
    const text = String(message);
    total += text.length;
    if (events.length > 0 && total > size) break;
    events.push({
      tenant,
      session: String(session),
      order: Number(ord),
      epoch: Number(epoch),
      at: Number(at),
      text,
      ...(typeof request === "string" && { request }),
      ...(typeof except_for === "string" && { except: except_for }),
    });
  }
  return events;
}

function orderIn(row: unknown): number {
  return Number(membersOf(row).ord ?? 0);
}

function membersOf(row: unknown): Record<string, unknown> {
  return typeof row === "object" && row !== null ? { ...row } : {};
}
