import { type Database, type TablesModule, TextPacker } from "@reins/store";
import type { Hole } from "./logged-event.ts";
import type { LogRange, Run, WrittenEvent } from "./tables.ts";

/** What messages look like, the most frequent last. It is a part of every database: never change it, add another. */
const SAMPLE = [
  '{"method":"_reins/turn_over","params":{"draft":{"quality":"turn","actor":"native","target":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","entity_id":"native:acp:","tags":["turn:","end_turn"],"payload":{"actor":"native","completed_at":"2026-02-04T09:00:00.000Z","entries":["0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],"inputs_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","outputs_hash":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","started_at":"2026-02-04T09:00:00.000Z","stop_reason":"end_turn","timestamp":"2026-02-04T09:00:00.000Z","turn":"","usage":{"input_tokens":,"output_tokens":,"tokens":,"total_tokens":}}}}}',
  '{"method":"_reins/turn_ended","params":{"turn":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}',
  '{"method":"_reins/session/turn","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","state":"running","stopReason":"end_turn"}}',
  '{"method":"$/cancel_request","params":{"requestId":"reins-"}}',
  '{"method":"session/request_permission","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","toolCall":{"toolCallId":"","title":"","name":"run_command","kind":"execute","rawInput":{"command":""},"status":"pending","locations":[{"path":"/home/"}]},"options":[{"optionId":"allow_once","name":"Allow once","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow this","kind":"allow_always"},{"optionId":"reject_once","name":"Do not allow","kind":"reject_once"}],"_meta":{"reins":{"approval":"apr_","rule":"everything_else_is_asked_about","reason":"no rule allows it without asking","expires_at":"2026-02-04T09:00:00.000Z"}}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":""}}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":""}}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"usage_update","used":,"size":}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"plan","entries":[{"content":"","priority":"medium","status":"in_progress"}]}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"tool_call","toolCallId":"","title":"","name":"read_file","kind":"read","rawInput":{"path":""},"status":"pending","locations":[{"path":""}],"_meta":{"reins":{"verdict":"allowed","entry":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","rule":"work_in_the_workspace","reason":"it reads, edits or runs something harmless in the workspace","enforcement":"performed"}}}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"tool_call_update","toolCallId":"","status":"in_progress"}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"tool_call_update","toolCallId":"","status":"failed","content":[{"type":"content","content":{"type":"text","text":""}}],"rawOutput":{"text":"","is_error":true}}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"tool_call_update","toolCallId":"","status":"completed","content":[{"type":"content","content":{"type":"text","text":""}}],"rawOutput":{"text":"","is_error":false}}}}',
  '{"method":"session/update","params":{"sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"messageId":""}}}',
].join("\n");

/** Messages in less room. */
const messagePacker = new TextPacker(1, SAMPLE);

/** The most messages in a row, and from how many characters on it takes no more. */
const ROW_COUNT = 128;
const ROW_SIZE = 32 * 1024;
/** How many rows are read at once. */
const ROWS = 16;

/** Replaces all names with a colon: they come and go with connections, which get no gap for them. */
const NO_NAME = "";

/** Leaps through the index from tenant to tenant. */
const TENANTS = `
  WITH RECURSIVE tenants (tenant) AS (
    SELECT min(tenant) FROM log_events
    UNION ALL SELECT (SELECT min(e.tenant) FROM log_events e WHERE e.tenant > tenants.tenant)
    FROM tenants WHERE tenant IS NOT NULL
  )`;

const module: TablesModule = {
  migrations: [
    // A row holds a run: `packed` has `count` messages, a line each, the first at `ord`.
    `CREATE TABLE log_events (
       tenant TEXT NOT NULL, ord INTEGER NOT NULL, session TEXT NOT NULL, epoch INTEGER NOT NULL, at INTEGER NOT NULL,
       request TEXT, except_for TEXT, count INTEGER NOT NULL, packed BLOB NOT NULL, PRIMARY KEY (tenant, ord)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX log_events_by_session ON log_events (session, ord);
     CREATE TABLE log_pruned (tenant TEXT NOT NULL, session TEXT NOT NULL, ord INTEGER NOT NULL, PRIMARY KEY (tenant, session))
     STRICT, WITHOUT ROWID;
     CREATE TABLE log_holes (tenant TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (tenant, first))
     STRICT, WITHOUT ROWID;
     CREATE TABLE log_epochs (epoch INTEGER PRIMARY KEY) STRICT`,
  ],
  open(database) {
    const add = database.prepare(
      `INSERT INTO log_events (tenant, ord, session, epoch, at, request, except_for, count, packed)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const lasts = database.prepare(
      `${TENANTS}
       SELECT tenant, max(ord) AS ord FROM (
         SELECT tenant, (
           SELECT e.ord + e.count - 1 FROM log_events e WHERE e.tenant = tenants.tenant ORDER BY e.ord DESC LIMIT 1
         ) AS ord FROM tenants
         UNION ALL SELECT tenant, ord FROM log_pruned
         UNION ALL SELECT tenant, last FROM log_holes
       ) WHERE tenant IS NOT NULL GROUP BY tenant`,
    );
    const begin = database.prepare(
      "INSERT INTO log_epochs (epoch) SELECT coalesce(max(epoch), 0) + 1 FROM log_epochs RETURNING epoch",
    );
    // An epoch of which nothing is stored any more ended within what was deleted.
    const lastOf = database.prepare(
      `SELECT coalesce(
         (SELECT ord + count - 1 FROM log_events WHERE tenant = @tenant AND epoch <= @epoch ORDER BY ord DESC LIMIT 1),
         (SELECT max(ord) FROM log_pruned WHERE tenant = @tenant)
       ) AS ord`,
    );
    const addHole = database.prepare(
      "INSERT OR IGNORE INTO log_holes (tenant, first, last) VALUES (?, ?, ?)",
    );
    const holes = database.prepare(
      "SELECT tenant, first, last FROM log_holes WHERE tenant = ? AND last > ? ORDER BY first",
    );
    const prunedUntil = database.prepare("SELECT ord FROM log_pruned WHERE tenant = ? AND session = ?");
    const counts = database.prepare(
      `SELECT session, sum(count) AS count FROM log_events
       WHERE session IN (SELECT value FROM json_each(?)) AND tenant = ? GROUP BY session`,
    );
    const prune = pruner(database);
    return {
      changes: {
        append({ runs, holes: missing = [] }: { runs: readonly Run[]; holes?: readonly Hole[] }): void {
          for (const { tenant, first, last } of missing) addHole.run(tenant, first, last);
          for (const { tenant, session, epoch, at, request = null, except = null, first, texts } of runs) {
            let place = first;
            for (const { text, count } of rowsOf(texts)) {
              add.run(tenant, place, session, epoch, at, request, except, count, messagePacker.pack(text));
              place += count;
            }
          }
        },
        begin: () => Number(membersOf(begin.get()).epoch),
        prune,
      },
      queries: {
        written: (range: LogRange) => eventsAfter(database, range),
        lasts: () => {
          const rows = lasts.all().map(membersOf);
          return new Map(rows.map(({ tenant, ord }) => [String(tenant), Number(ord)]));
        },
        lastOf: ({ tenant, epoch }: { tenant: string; epoch: number }) =>
          orderIn(lastOf.get({ tenant, epoch })),
        prunedUntil: ({ tenant, session }: { tenant: string; session: string }) =>
          orderIn(prunedUntil.get(tenant, session)),
        holes: ({ tenant, after }: { tenant: string; after: number }) =>
          holes
            .all(tenant, after)
            .map(membersOf)
            .map(({ first, last }) => ({ tenant, first: Number(first), last: Number(last) })),
        counts({ tenant, sessions }: { tenant: string; sessions: readonly string[] }) {
          const rows = counts.all(JSON.stringify(sessions), tenant).map(membersOf);
          return new Map(rows.map(({ session, count }) => [String(session), Number(count)]));
        },
      },
    };
  },
};

export default module;

/** Texts as the rows that hold them: so few and so small that a reader of one reads little beside it. */
function rowsOf(texts: readonly string[]): readonly { readonly text: string; readonly count: number }[] {
  const rows: { text: string; count: number }[] = [];
  for (const text of texts) {
    const last = rows.at(-1);
    if (last && last.count < ROW_COUNT && last.text.length + text.length < ROW_SIZE) {
      // JSON holds no line feed but between its tokens, and JSON.stringify writes none there.
      last.text += `\n${text}`;
      last.count += 1;
    } else rows.push({ text, count: 1 });
  }
  return rows;
}

/** Deletes from the oldest position on, up to the first that is not old; a clock that was set back keeps some for longer. */
function pruner(database: Database): (args: { before: number; limit: number }) => number {
  const tenants = database.prepare(`${TENANTS} SELECT tenant FROM tenants WHERE tenant IS NOT NULL`);
  const oldest = database.prepare(
    "SELECT session, ord, count, at FROM log_events WHERE tenant = ? ORDER BY ord LIMIT ?",
  );
  const note = database.prepare(
    "INSERT INTO log_pruned (tenant, session, ord) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET ord = max(ord, excluded.ord)",
  );
  const remove = database.prepare("DELETE FROM log_events WHERE tenant = ? AND ord = ?");
  return ({ before, limit }) => {
    let pruned = 0;
    for (const { tenant } of tenants.all().map(membersOf)) {
      for (const { session, ord, count, at } of oldest.all(tenant, limit - pruned).map(membersOf)) {
        if (Number(at) >= before) break;
        note.run(tenant, String(session).includes(":") ? NO_NAME : session, Number(ord) + Number(count) - 1);
        remove.run(tenant, ord);
        pruned += 1;
      }
      if (pruned === limit) break;
    }
    return pruned;
  };
}

function eventsAfter(database: Database, { tenant, sessions, after, limit, size }: LogRange): WrittenEvent[] {
  const marks = sessions.map(() => "?").join(", ");
  // The row with a position begins at most so far before it.
  const query = database.prepare(
    `SELECT ord, session, epoch, at, request, except_for, count, packed FROM log_events
     WHERE session IN (${marks}) AND ord > ? - ${ROW_COUNT} AND ord + count - 1 > ? AND tenant = ? ORDER BY ord LIMIT ${ROWS}`,
  );
  const events: WrittenEvent[] = [];
  let total = 0;
  for (let place = after; ; ) {
    const rows = query.all(...sessions, place, place, tenant);
    for (const event of rows.flatMap((row) => eventsIn(tenant, membersOf(row)))) {
      if (event.order <= after) continue;
      total += event.text.length;
      if (events.length === limit || (events.length > 0 && total > size)) return events;
      events.push(event);
      place = event.order;
    }
    if (rows.length < ROWS) return events;
  }
}

function eventsIn(tenant: string, row: Record<string, unknown>): WrittenEvent[] {
  const { ord, session, epoch, at, request, except_for, count, packed } = row;
  const written = packed instanceof Uint8Array ? messagePacker.unpack(packed) : "";
  const texts = count === 1 ? [written] : written.split("\n");
  return texts.map((text, index) => ({
    tenant,
    session: String(session),
    order: Number(ord) + index,
    epoch: Number(epoch),
    at: Number(at),
    text,
    ...(typeof request === "string" && { request }),
    ...(typeof except_for === "string" && { except: except_for }),
  }));
}

function orderIn(row: unknown): number {
  return Number(membersOf(row).ord ?? 0);
}

function membersOf(row: unknown): Record<string, unknown> {
  return typeof row === "object" && row !== null ? { ...row } : {};
}
