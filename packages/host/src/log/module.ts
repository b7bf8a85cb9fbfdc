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

/** The most messages in a block, and from how many characters on it takes no more. */
const BLOCK_COUNT = 128;
const BLOCK_SIZE = 32 * 1024;
/** How many blocks are read at once. */
const BLOCKS = 16;

/** Replaces all names with a colon: they come and go with connections, which get no gap for them. */
const NO_NAME = "";

/** Leaps through the index from tenant to tenant. */
const TENANTS = `
  WITH RECURSIVE tenants (tenant) AS (
    SELECT min(tenant) FROM log_blocks
    UNION ALL SELECT (SELECT min(e.tenant) FROM log_blocks e WHERE e.tenant > tenants.tenant)
    FROM tenants WHERE tenant IS NOT NULL
  )`;

const module: TablesModule = {
  migrations: [
    // A block holds `count` messages that follow each other, of any sessions, the first at `ord` and the newest of `at`:
    // `packed` has for each run a line about it and a line for each message. `log_positions` finds the blocks of a session.
    `CREATE TABLE log_blocks (
       tenant TEXT NOT NULL, ord INTEGER NOT NULL, epoch INTEGER NOT NULL, at INTEGER NOT NULL, count INTEGER NOT NULL,
       packed BLOB NOT NULL, PRIMARY KEY (tenant, ord)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE log_positions (
       session TEXT NOT NULL, tenant TEXT NOT NULL, ord INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL,
       PRIMARY KEY (session, tenant, ord)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE log_pruned (tenant TEXT NOT NULL, session TEXT NOT NULL, ord INTEGER NOT NULL, PRIMARY KEY (tenant, session))
     STRICT, WITHOUT ROWID;
     CREATE TABLE log_holes (tenant TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (tenant, first))
     STRICT, WITHOUT ROWID;
     CREATE TABLE log_epochs (epoch INTEGER PRIMARY KEY) STRICT`,
  ],
  open(database) {
    const add = database.prepare(
      "INSERT INTO log_blocks (tenant, ord, epoch, at, count, packed) VALUES (?, ?, ?, ?, ?, ?)",
    );
    const place = database.prepare(
      "INSERT INTO log_positions (session, tenant, ord, last, count) VALUES (?, ?, ?, ?, ?)",
    );
    const lasts = database.prepare(
      `${TENANTS}
       SELECT tenant, max(ord) AS ord FROM (
         SELECT tenant, (
           SELECT e.ord + e.count - 1 FROM log_blocks e WHERE e.tenant = tenants.tenant ORDER BY e.ord DESC LIMIT 1
         ) AS ord FROM tenants
         UNION ALL SELECT tenant, ord FROM log_pruned
         UNION ALL SELECT tenant, last FROM log_holes
       ) WHERE tenant IS NOT NULL GROUP BY tenant`,
    );
    const last = database.prepare(
      `SELECT max(ord) AS ord FROM (
         SELECT (SELECT ord + count - 1 FROM log_blocks WHERE tenant = @tenant ORDER BY ord DESC LIMIT 1) AS ord
         UNION ALL SELECT max(ord) FROM log_pruned WHERE tenant = @tenant
         UNION ALL SELECT max(last) FROM log_holes WHERE tenant = @tenant
       ) AS positions`,
    );
    const begin = database.prepare(
      "INSERT INTO log_epochs (epoch) SELECT coalesce(max(epoch), 0) + 1 FROM log_epochs RETURNING epoch",
    );
    // An epoch of which nothing is stored any more ended within what was deleted.
    const lastOf = database.prepare(
      `SELECT coalesce(
         (SELECT ord + count - 1 FROM log_blocks WHERE tenant = @tenant AND epoch <= @epoch ORDER BY ord DESC LIMIT 1),
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
      `SELECT session, sum(count) AS count FROM log_positions
       WHERE session IN (SELECT value FROM json_each(?)) AND tenant = ? GROUP BY session`,
    );
    // The length of a blob is known without reading it.
    const stored = database.prepare<{ readonly bytes: number }>(
      "SELECT coalesce(sum(length(packed)), 0) AS bytes FROM log_blocks WHERE tenant = ?",
    );
    const prune = pruner(database);
    return {
      changes: {
        append({ runs, holes: missing = [] }: { runs: readonly Run[]; holes?: readonly Hole[] }): void {
          for (const { tenant, first, last } of missing) addHole.run(tenant, first, last);
          for (const { tenant, first, epoch, at, count, text, sessions } of blocksOf(runs)) {
            add.run(tenant, first, epoch, at, count, messagePacker.pack(text));
            for (const [session, { last, count }] of sessions) place.run(session, tenant, first, last, count);
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
        last: ({ tenant }: { tenant: string }) => orderIn(last.get({ tenant })),
        lastOf: ({ tenant, epoch }: { tenant: string; epoch: number }) =>
          orderIn(lastOf.get({ tenant, epoch })),
        prunedUntil: ({ tenant, session }: { tenant: string; session: string }) =>
          orderIn(prunedUntil.get(tenant, session)),
        holes: ({ tenant, after }: { tenant: string; after: number }) =>
          holes
            .all(tenant, after)
            .map(membersOf)
            .map(({ first, last }) => ({ tenant, first: Number(first), last: Number(last) })),
        stored: ({ tenant }: { tenant: string }) => stored.get(tenant)?.bytes ?? 0,
        counts({ tenant, sessions }: { tenant: string; sessions: readonly string[] }) {
          const rows = counts.all(JSON.stringify(sessions), tenant).map(membersOf);
          return new Map(rows.map(({ session, count }) => [String(session), Number(count)]));
        },
      },
    };
  },
};

export default module;

/** Messages that are stored together. */
interface Block extends Pick<Run, "tenant" | "first" | "epoch"> {
  at: number;
  count: number;
  text: string;
  /** The last message of each session in it, and how many it has. */
  readonly sessions: Map<string, { last: number; count: number }>;
}

/** Runs as the blocks that hold them: so few and so small that a reader of one session reads little of others. */
function blocksOf(runs: readonly Run[]): readonly Block[] {
  const blocks: Block[] = [];
  for (const run of runs) {
    const { tenant, session, epoch, at, texts } = run;
    for (let from = 0; from < texts.length; ) {
      const first = run.first + from;
      let block = blocks.at(-1);
      if (!block || !takes(block, { tenant, epoch, first }, texts[from]?.length ?? 0)) {
        block = { tenant, first, epoch, at, count: 0, text: "", sessions: new Map() };
        blocks.push(block);
      }
      const part = partOf(texts, from, block);
      block.at = Math.max(block.at, at);
      block.text += `${headOf(run, part.length)}\n${part.join("\n")}\n`;
      block.count += part.length;
      from += part.length;
      const { count = 0 } = block.sessions.get(session) ?? {};
      block.sessions.set(session, { last: run.first + from - 1, count: count + part.length });
    }
  }
  return blocks;
}

/** Whether a block has room for a message of a size that comes right after it. */
function takes(
  block: Block,
  { tenant, epoch, first }: Pick<Run, "tenant" | "epoch" | "first">,
  size: number,
): boolean {
  const { count, text } = block;
  if (count >= BLOCK_COUNT || text.length + size >= BLOCK_SIZE) return false;
  return block.tenant === tenant && block.epoch === epoch && block.first + count === first;
}

/** The texts from one on that a block takes, at least that one. */
function partOf(texts: readonly string[], from: number, { count, text }: Block): readonly string[] {
  let [to, size] = [from + 1, text.length + (texts[from]?.length ?? 0)];
  for (; to < texts.length && to - from < BLOCK_COUNT - count; to += 1) {
    size += texts[to]?.length ?? 0;
    if (size >= BLOCK_SIZE) break;
  }
  return texts.slice(from, to);
}

/** The line before the messages of a run. JSON.stringify writes no line feed, here and in the messages. */
function headOf({ session, at, request, except }: Run, count: number): string {
  return JSON.stringify([session, count, at, request ?? null, except ?? null]);
}

/** Deletes from the oldest position on, up to the first that is not old; a clock that was set back keeps some for longer. */
function pruner(database: Database): (args: { before: number; limit: number }) => number {
  const tenants = database.prepare(`${TENANTS} SELECT tenant FROM tenants WHERE tenant IS NOT NULL`);
  const oldest = database.prepare(
    "SELECT ord, epoch, at, packed FROM log_blocks WHERE tenant = ? ORDER BY ord LIMIT ?",
  );
  const note = database.prepare(
    "INSERT INTO log_pruned (tenant, session, ord) VALUES (?, ?, ?) ON CONFLICT (tenant, session) DO UPDATE SET ord = max(log_pruned.ord, excluded.ord)",
  );
  const remove = database.prepare("DELETE FROM log_blocks WHERE tenant = ? AND ord = ?");
  const removePlace = database.prepare(
    "DELETE FROM log_positions WHERE session = ? AND tenant = ? AND ord = ?",
  );
  return ({ before, limit }) => {
    let pruned = 0;
    for (const { tenant } of tenants.all().map(membersOf)) {
      for (const row of oldest.all(tenant, limit - pruned).map(membersOf)) {
        if (Number(row.at) >= before) break;
        const lasts = new Map(eventsIn(String(tenant), row).map(({ session, order }) => [session, order]));
        for (const [session, order] of lasts) {
          note.run(tenant, session.includes(":") ? NO_NAME : session, order);
          removePlace.run(session, tenant, row.ord);
        }
        remove.run(tenant, row.ord);
        pruned += 1;
      }
      if (pruned === limit) break;
    }
    return pruned;
  };
}

function eventsAfter(database: Database, { tenant, sessions, after, limit, size }: LogRange): WrittenEvent[] {
  const marks = sessions.map(() => "?").join(", ");
  // The block with a position begins at most so far before it.
  const query = database.prepare(
    `SELECT DISTINCT ord FROM log_positions
     WHERE session IN (${marks}) AND tenant = ? AND ord > ? - ${BLOCK_COUNT} AND last > ? ORDER BY ord LIMIT ${BLOCKS}`,
  );
  const block = database.prepare("SELECT ord, epoch, packed FROM log_blocks WHERE tenant = ? AND ord = ?");
  const wanted = new Set(sessions);
  const events: WrittenEvent[] = [];
  let total = 0;
  for (let place = after; ; ) {
    const rows = query.all(...sessions, tenant, place, place);
    for (const row of rows) {
      const all = eventsIn(tenant, membersOf(block.get(tenant, orderIn(row))));
      for (const event of all) {
        if (event.order <= place || !wanted.has(event.session)) continue;
        total += event.text.length;
        if (events.length === limit || (events.length > 0 && total > size)) return events;
        events.push(event);
        place = event.order;
      }
    }
    if (rows.length < BLOCKS) return events;
  }
}

/** The messages of a block. */
function eventsIn(tenant: string, { ord, epoch, packed }: Record<string, unknown>): WrittenEvent[] {
  const lines = (packed instanceof Uint8Array ? messagePacker.unpack(packed) : "").split("\n");
  const events: WrittenEvent[] = [];
  let order = Number(ord);
  for (let line = 0; line < lines.length - 1; ) {
    const [session, count, at, request, except]: unknown[] = JSON.parse(lines[line] ?? "[]");
    const run = {
      ...{ tenant, session: String(session), epoch: Number(epoch), at: Number(at) },
      ...(typeof request === "string" && { request }),
      ...(typeof except === "string" && { except }),
    };
    const texts = lines.slice(line + 1, line + 1 + Number(count));
    for (const text of texts) {
      events.push({ ...run, order, text });
      order += 1;
    }
    line += 1 + texts.length;
  }
  return events;
}

function orderIn(row: unknown): number {
  return Number(membersOf(row).ord ?? 0);
}

function membersOf(row: unknown): Record<string, unknown> {
  return typeof row === "object" && row !== null ? { ...row } : {};
}
