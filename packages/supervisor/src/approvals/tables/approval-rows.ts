import { type Database, StoreError } from "@reins/store";
import type { ApprovalState } from "../approval.ts";
import type { ApprovalChanges, ApprovalQueries, ApprovalRange, Move, StoredApproval } from "../tables.ts";
import {
  type ApprovalRow,
  changeWriter,
  entryFinder,
  grantKeeper,
  KEPT_COLUMNS,
  pageSize,
  storedIn,
} from "./change-rows.ts";

const OPEN = "state IN ('pending', 'approved')";

const SELECT = `SELECT a.state, a.answers, ${KEPT_COLUMNS} FROM approvals a`;

type Changes = Pick<ApprovalChanges, "ask" | "move" | "use" | "wait">;

type Queries = Pick<ApprovalQueries, "get" | "newest" | "list" | "open" | "over" | "nextOver">;

/** The changes of approvals. Every one but `wait` finds the entry that records it in the same commit, or is refused. */
export function approvalChanges(database: Database): Changes {
  const find = database.prepare<ApprovalRow>(`${SELECT} WHERE a.id = ?`);
  const count = database.prepare<{ readonly open: number }>(
    `SELECT count(*) AS open FROM approvals WHERE tenant = ? AND session = ? AND ${OPEN}`,
  );
  const insert = database.prepare(
    "INSERT INTO approvals (id, tenant, session, turn, binding, state, answers, expires_at, body, sealed, entry, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const update = database.prepare(
    `UPDATE approvals SET state = @state, answers = @answers, version = @version,
       sealed = CASE @state WHEN 'pending' THEN sealed END WHERE id = @id`,
  );
  const wait = database.prepare(`UPDATE approvals SET turn = ? WHERE id = ? AND ${OPEN}`);
  const entryOf = entryFinder(database);
  const write = changeWriter(database);
  const keepGrant = grantKeeper(database);

  const stored = (id: string): StoredApproval => {
    const row = find.get(id);
    if (row === undefined) throw new StoreError("conflict", `there is no approval ${id}`);
    return storedIn(row);
  };
  const apply = ({ approval, version }: StoredApproval, move: Omit<Move, "version" | "grant">): undefined => {
    const entry = entryOf(approval.id, move.state);
    const answers = JSON.stringify(move.answers);
    update.run({ state: move.state, answers, version: version + 1, id: approval.id });
    write({ approval, state: move.state, answers, entry, notice: move.notice });
  };
  return {
    ask({ approval, form, max_open, notice }) {
      const { id, tenant, session, turn = null, binding, state, expires_at } = approval;
      if ((count.get(tenant, session)?.open ?? 0) >= max_open)
        throw new StoreError("overloaded", `${max_open} approvals of this session are open already`);
      const entry = entryOf(id, state);
      const { body, sealed } = form;
      insert.run(id, tenant, session, turn, binding, state, "[]", expires_at, body, sealed, entry, 0);
      write({ approval, state, answers: "[]", entry, notice });
      return entry;
    },
    move(move) {
      const found = stored(move.id);
      if (found.version !== move.version)
        throw new StoreError("conflict", `the approval ${move.id} was changed concurrently`);
      if (move.grant) keepGrant(move.grant, move.notice.at);
      return apply(found, move);
    },
    use({ id, notice }) {
      const found = stored(id);
      const { state, answers, expires_at } = found.approval;
      if (state !== "approved" || expires_at <= notice.at)
        throw new StoreError("conflict", `the approval ${id} cannot be used: ${reasonNot(state)}`);
      return apply(found, { id, state: "used", answers, notice });
    },
    wait: ({ id, turn }) => void wait.run(turn, id),
  };
}

/** The queries of approvals. */
export function approvalQueries(database: Database): Queries {
  const get = database.prepare<ApprovalRow>(`${SELECT} WHERE a.id = ? AND a.tenant = ?`);
  const newest = database.prepare<ApprovalRow>(
    `${SELECT} WHERE a.tenant = ? AND a.binding = ? ORDER BY a.place DESC LIMIT 1`,
  );
  const open = database.prepare<ApprovalRow>(
    `${SELECT} WHERE a.tenant = ? AND a.session = ? AND a.${OPEN} AND (? IS NULL OR a.turn = ?) ORDER BY a.place`,
  );
  const over = database.prepare<ApprovalRow>(
    `${SELECT} WHERE a.${OPEN} AND a.expires_at <= ? ORDER BY a.expires_at LIMIT ?`,
  );
  const next = database.prepare<{ readonly end: string | null }>(
    `SELECT min(expires_at) AS end FROM approvals WHERE ${OPEN}`,
  );
  const one = (row: ApprovalRow | undefined) => row && storedIn(row);
  return {
    get: ({ id, tenant }) => one(get.get(id, tenant)),
    newest: ({ binding, tenant }) => one(newest.get(tenant, binding)),
    list(range) {
      const { sql, parameters } = listSql(range);
      return database
        .prepare<ApprovalRow>(sql)
        .all(...parameters)
        .map(storedIn);
    },
    open: ({ tenant, session, turn = null }) => open.all(tenant, session, turn, turn).map(storedIn),
    over: ({ now, limit }) => over.all(now, limit).map(storedIn),
    nextOver: () => next.get()?.end ?? undefined,
  };
}

function listSql({ tenant, state, user, agent, session, after, order, limit }: ApprovalRange) {
  const newest = order === "newest";
  const place = "(SELECT place FROM approvals WHERE id = ? AND tenant = ?)";
  const conditions: [string, unknown[]][] = [["a.tenant = ?", [tenant]]];
  if (state !== undefined) conditions.push(["a.state = ?", [state]]);
  if (user !== undefined) conditions.push(["a.body ->> '$.user' = ?", [user]]);
  if (agent !== undefined) conditions.push(["a.body ->> '$.agent' = ?", [agent]]);
  if (session !== undefined) conditions.push(["a.session = ?", [session]]);
  if (after !== undefined) conditions.push([`a.place ${newest ? "<" : ">"} ${place}`, [after, tenant]]);
  const where = conditions.map(([condition]) => condition).join(" AND ");
  const sql = `${SELECT} WHERE ${where} ORDER BY a.place ${newest ? "DESC" : "ASC"} LIMIT ?`;
  return { sql, parameters: [...conditions.flatMap(([, values]) => values), pageSize(limit)] };
}

function reasonNot(state: ApprovalState): string {
  return state === "approved" ? "its time is over" : `it is ${state}`;
}

/**
 * Forgets approvals that ended before an instant and count for nothing any more, with their changes and the deliveries
 * that were given up. The newest change stays, because the next one is numbered after it.
 */
export function pruneChanges(database: Database): Pick<ApprovalChanges, "prune"> {
  const old = database.prepare<{ readonly id: string }>(
    `SELECT a.id FROM approvals a
     WHERE a.state IN ('denied', 'expired', 'withdrawn', 'used') AND a.expires_at <= @before
       AND NOT EXISTS (SELECT 1 FROM approval_changes c WHERE c.approval = a.id
         AND (c.at > @before OR c.seq = (SELECT max(seq) FROM approval_changes)
           OR EXISTS (SELECT 1 FROM approval_deliveries d WHERE d.change = c.seq AND d.state = 'waiting')))
     ORDER BY a.place LIMIT @limit`,
  );
  const removals = [
    "DELETE FROM approval_deliveries WHERE change IN (SELECT seq FROM approval_changes WHERE approval = ?)",
    "DELETE FROM approval_changes WHERE approval = ?",
    "DELETE FROM approvals WHERE id = ?",
  ].map((sql) => database.prepare(sql));
  return {
    prune: ({ before, limit }) => {
      const found = old.all({ before, limit });
      for (const { id } of found) for (const remove of removals) remove.run(id);
      return found.length;
    },
  };
}
