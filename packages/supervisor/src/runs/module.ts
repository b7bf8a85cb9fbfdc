import { parseStored, type TablesModule, TextPacker } from "@reins/store";
import type { RunChanges, RunEventRange, RunRange } from "./tables.ts";

/** The lifecycles that have not come to an end. */
const UNFINISHED = `contract = 'run_lifecycle' AND payload ->> '$.status' NOT IN ('completed', 'failed', 'cancelled')`;

/** What reports look like, the most frequent last. It is a part of every database: never change it, add another. */
const SAMPLE = [
  '{"run_id":"0123456789abcdef","list_id":"plan","tasks":[{"task_id":"1","title":"","status":"in_progress","progress":0.5}],"summary":""}',
  '{"run_id":"0123456789abcdef","verification_id":"1","status":"passed","command":"npm test","summary":"","checks":[]}',
  '{"run_id":"0123456789abcdef","status":"failed","session_id":"","agent_id":"","message":"","error":""}',
  '{"run_id":"","status":"created","session_id":"","agent_id":"native","objective":"","metadata":{"agent":"native","prompt":""},"timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"run_id":"","status":"executing","session_id":"","agent_id":"native","message":"","timestamp":"2026-02-04T09:00:00.000Z"}',
  '{"run_id":"","status":"completed","session_id":"","agent_id":"native","summary":"","metadata":{"stop_reason":"end_turn"},"timestamp":"2026-02-04T09:00:00.000Z"}',
].join("\n");

/** Reports in less room. */
const reportPacker = new TextPacker(1, SAMPLE);

const module: TablesModule = {
  migrations: [
    `CREATE TABLE runs (
       tenant TEXT NOT NULL,
       run_id TEXT NOT NULL,
       contract TEXT NOT NULL,
       session_id TEXT NOT NULL,
       updated_at TEXT NOT NULL,
       payload TEXT NOT NULL,
       principal TEXT,
       user TEXT,
       PRIMARY KEY (tenant, run_id, contract)
     ) STRICT;
     CREATE INDEX runs_by_session ON runs (tenant, session_id);
     CREATE INDEX runs_unfinished ON runs (tenant, run_id) WHERE ${UNFINISHED};
     -- AUTOINCREMENT: a number is never reused, even after the newest events are deleted.
     CREATE TABLE run_events (
       seq INTEGER PRIMARY KEY AUTOINCREMENT,
       tenant TEXT NOT NULL,
       run_id TEXT NOT NULL,
       contract TEXT NOT NULL,
       session_id TEXT NOT NULL,
       at TEXT NOT NULL,
       payload BLOB NOT NULL,
       fault TEXT,
       principal TEXT,
       user TEXT
     ) STRICT;
     CREATE INDEX run_events_of_run ON run_events (tenant, run_id, seq);
     CREATE INDEX run_events_of_tenant ON run_events (tenant, seq)`,
  ],
  open(database) {
    const put = database.prepare(
      `INSERT INTO runs (tenant, run_id, contract, session_id, updated_at, payload, principal, user)
       VALUES (@tenant, @run_id, @contract, @session_id, @updated_at, @payload, @principal, @user)
       ON CONFLICT (tenant, run_id, contract) DO UPDATE SET session_id = excluded.session_id,
         updated_at = excluded.updated_at, payload = excluded.payload, principal = excluded.principal,
         user = excluded.user`,
    );
    const find = database.prepare("SELECT * FROM runs WHERE tenant = ? AND run_id = ? ORDER BY contract");
    const list = database.prepare(
      `WITH states AS (
         SELECT * FROM runs
         WHERE tenant = @tenant AND (@session IS NULL OR session_id = @session)
           AND (@principal IS NULL OR principal = @principal OR user = @user)),
       newest AS (SELECT run_id, max(updated_at) AS at FROM states GROUP BY run_id),
       page AS (
         SELECT * FROM newest
         WHERE @after IS NULL OR (at, run_id) < (SELECT at, run_id FROM newest WHERE run_id = @after)
         ORDER BY at DESC, run_id DESC LIMIT @limit)
       SELECT states.* FROM page JOIN states USING (run_id) ORDER BY at DESC, run_id DESC, updated_at DESC`,
    );
    const unfinished = database.prepare(
      `SELECT * FROM runs WHERE tenant = ? AND run_id > ? AND ${UNFINISHED} ORDER BY run_id LIMIT ?`,
    );
    const append = database.prepare(
      `INSERT INTO run_events (tenant, run_id, contract, session_id, at, payload, fault, principal, user)
       VALUES (@tenant, @run_id, @contract, @session_id, @at, @payload, @fault, @principal, @user)`,
    );
    const crop = database.prepare(
      `DELETE FROM run_events WHERE tenant = @tenant AND run_id = @run_id AND seq <=
         (SELECT seq FROM run_events WHERE tenant = @tenant AND run_id = @run_id
          ORDER BY seq DESC LIMIT 1 OFFSET @most)`,
    );
    const prune = database.prepare(
      `DELETE FROM run_events WHERE seq IN
         (SELECT seq FROM run_events
          WHERE seq < coalesce((SELECT seq FROM run_events WHERE at >= ? ORDER BY seq LIMIT 1), 9e15)
          ORDER BY seq LIMIT ?)
       RETURNING tenant, run_id`,
    );
    const forget = database.prepare(
      `DELETE FROM runs WHERE tenant = @tenant AND run_id = @run_id
         AND NOT EXISTS (SELECT 1 FROM run_events e WHERE e.tenant = @tenant AND e.run_id = @run_id)`,
    );
    const ofTenant = (where: string) =>
      database.prepare(
        `SELECT * FROM run_events WHERE tenant = @tenant AND ${where} seq > @after
           AND (@session IS NULL OR session_id = @session)
           AND (@principal IS NULL OR principal = @principal OR user = @user)
         ORDER BY seq LIMIT @limit`,
      );
    const [events, eventsOfRun] = [ofTenant(""), ofTenant("run_id = @run_id AND")];
    const last = database.prepare<{ last: number }>("SELECT coalesce(max(seq), 0) AS last FROM run_events");
    return {
      changes: {
        note({ notes, most }: Parameters<RunChanges["note"]>[0]): void {
          const states = new Map<string, object>();
          const runs = new Map<string, { readonly tenant: string; readonly run_id: string }>();
          for (const { state, at, fault } of notes) {
            const { tenant, run_id, contract } = state;
            const payload = JSON.stringify(state.payload);
            const row = { ...state, payload, at, fault };
            append.run({ ...row, payload: reportPacker.pack(payload) });
            runs.set(JSON.stringify([tenant, run_id]), { tenant, run_id });
            if (fault === null) states.set(JSON.stringify([tenant, run_id, contract]), row);
          }
          for (const run of runs.values()) crop.run({ ...run, most });
          for (const row of states.values()) put.run(row);
        },
        prune({ before, limit }: { before: string; limit: number }): number {
          const pruned = prune.all(before, limit);
          for (const run of pruned) forget.run(run);
          return pruned.length;
        },
      },
      queries: {
        events: ({ tenant, run_id, session_id, owner, after, limit }: RunEventRange) => {
          const { principal = null, user = null } = owner ?? {};
          const range = { tenant, session: session_id ?? null, principal, user, after, limit };
          const found = run_id === undefined ? events.all(range) : eventsOfRun.all({ ...range, run_id });
          return found.map(stateIn);
        },
        lastEvent: () => last.get()?.last ?? 0,
        find: ({ tenant, run_id }: { tenant: string; run_id: string }) =>
          find.all(tenant, run_id).map(stateIn),
        unfinished: ({ tenant, after, limit }: { tenant: string; after: string; limit: number }) =>
          unfinished.all(tenant, after, limit).map(stateIn),
        list: ({ tenant, session_id, owner, after = undefined, limit }: RunRange) => {
          const { principal = null, user = null } = owner ?? {};
          const range = { tenant, session: session_id ?? null, after: after ?? null, limit };
          return list.all({ ...range, principal, user }).map(stateIn);
        },
      },
    };
  },
};

export default module;

function stateIn(row: unknown): unknown {
  if (typeof row !== "object" || row === null || !("payload" in row)) return row;
  const { payload } = row;
  const text = payload instanceof Uint8Array ? reportPacker.unpack(payload) : String(payload);
  return { ...row, payload: parseStored(text) };
}
