import type { TablesModule } from "@reins/store";
import type { LoggedEvent } from "./logged-event.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE log_events (
       session TEXT NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, at INTEGER NOT NULL,
       request TEXT, message TEXT NOT NULL, PRIMARY KEY (session, seq)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX log_events_by_time ON log_events (at);
     CREATE TABLE log_epochs (epoch INTEGER PRIMARY KEY) STRICT`,
  ],
  open(database) {
    const add = database.prepare(
      "INSERT INTO log_events (session, seq, epoch, at, request, message) VALUES (?, ?, ?, ?, ?, ?)",
    );
    const old = database.prepare("DELETE FROM log_events WHERE at < ?");
    const long = database.prepare(
      `DELETE FROM log_events WHERE (session, seq) IN (
         SELECT e.session, e.seq FROM log_events e
         JOIN (SELECT session, max(seq) AS last FROM log_events GROUP BY session HAVING count(*) > ?) l
         ON e.session = l.session AND e.seq <= l.last - ?)`,
    );
    const begin = database.prepare(
      "INSERT INTO log_epochs (epoch) SELECT coalesce(max(epoch), 0) + 1 FROM log_epochs RETURNING epoch",
    );
    const forget = database.prepare("DELETE FROM log_events WHERE session = ?");
    const after = database.prepare(
      "SELECT seq, epoch, at, request, message FROM log_events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?",
    );
    const ends = database.prepare(
      `SELECT min(seq) AS first, max(seq) AS last, max(epoch) AS lastEpoch,
              coalesce(max(CASE WHEN epoch <= ? THEN seq END), 0) AS lastOfEpoch
       FROM log_events WHERE session = ?`,
    );
    return {
      changes: {
        append({ session, events }: { session: string; events: readonly LoggedEvent[] }): void {
          for (const { seq, epoch, at, request, message } of events)
            add.run(session, seq, epoch, at, request ?? null, JSON.stringify(message));
        },
        prune({ before, keep }: { before: number; keep: number }): number {
          return changed(old.run(before)) + changed(long.run(keep, keep));
        },
        begin: () => Number(membersOf(begin.get()).epoch),
        forget({ session }: { session: string }): void {
          forget.run(session);
        },
      },
      queries: {
        after({
          session,
          seq,
          limit,
          bytes,
        }: {
          session: string;
          seq: number;
          limit: number;
          bytes: number;
        }) {
          const events: LoggedEvent[] = [];
          let size = 0;
          for (const row of after.all(session, seq, limit)) {
            const event = eventIn(row);
            size += event.size;
            if (events.length > 0 && size > bytes) break;
            events.push(event.event);
          }
          return events;
        },
        ends({ session, epoch }: { session: string; epoch: number }) {
          const row = membersOf(ends.get(epoch, session));
          return row.last === null || row.last === undefined ? undefined : row;
        },
      },
    };
  },
};

export default module;

function eventIn(row: unknown): { event: LoggedEvent; size: number } {
  const { seq, epoch, at, request, message } = membersOf(row);
  const text = String(message);
  const event = { seq: Number(seq), epoch: Number(epoch), at: Number(at), message: JSON.parse(text) };
  return { event: typeof request === "string" ? { ...event, request } : event, size: text.length };
}

function membersOf(row: unknown): Record<string, unknown> {
  return typeof row === "object" && row !== null ? { ...row } : {};
}

function changed(result: unknown): number {
  return Number(membersOf(result).changes ?? 0);
}
