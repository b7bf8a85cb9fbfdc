import type { SessionRecord } from "../sessions/session-record.ts";
import { sessionTables } from "../sessions/tables.ts";
import type { HubContext } from "./context.ts";
import { endInterruptedRuns } from "./interrupted-runs.ts";
import { endCalls, recordInterruption, tellInterrupted } from "./interruption.ts";
import { askedAfter, type LeftQuestion, leftQuestions, offerAgain } from "./left-questions.ts";
import type { LiveSession } from "./live-session.ts";
import { asKept, type ServedSessions } from "./served-sessions.ts";
import { cancelOf } from "./session-clients.ts";

const MOST = 10_000;
const PAGE = 500;

/**
 * Marks what an earlier run left in the middle of a turn as interrupted, in all tenants, and asks again what waits for an
 * answer, also where the turn that asked was over before.
 */
export async function recover(context: HubContext): Promise<void> {
  const { harness } = context;
  for (const { id: tenant } of await harness.identity.listTenants()) {
    const range = { tenant, state: "running" as const, limit: MOST };
    const running = await harness.store.query(sessionTables, "list", range);
    const waiting = await sessionsThatWait(context, tenant);
    for (const record of running) await interrupted(context, record, waiting.has(record.id));
    for (const { id } of running) waiting.delete(id);
    for (const id of waiting) {
      const record = await harness.store.query(sessionTables, "get", { id, tenant });
      if (record && !record.ended) await askAgain(context, asKept(record));
    }
    // After the turns that came to their end are in the ledger.
    await endInterruptedRuns(context, tenant);
  }
}

/** The sessions of a tenant in which an approval waits. */
async function sessionsThatWait({ harness }: HubContext, tenant: string): Promise<Set<string>> {
  const waiting = new Set<string>();
  for (let after: string | undefined; ; ) {
    const range = { tenant, state: "pending", order: "oldest", after, limit: PAGE } as const;
    const page = await harness.approvals.list(range);
    for (const { id, session } of page) {
      after = id;
      waiting.add(session);
    }
    if (page.length < PAGE) return waiting;
  }
}

/** A turn that an earlier run was in the middle of is over; what it asked and still counts is asked again. */
async function interrupted(context: HubContext, record: SessionRecord, waits: boolean): Promise<void> {
  const { harness, log, sessions } = context;
  const left = await leftQuestions(log, record);
  const principal = await harness.identity.current({ id: record.principal });
  const isCut = !principal || (await recordInterruption(harness, log, record, principal));
  const asked_after = waits ? askedAfter(record) : undefined;
  const session = sessions.serve({ ...record, state: "idle", turn_after: undefined, asked_after });
  await sessions.keepAgain(session);
  await takeBack(sessions, record, left);
  if (isCut) {
    await endCalls({ log, sessions }, record);
    await tellInterrupted(sessions, record, "Reins was restarted.");
    // No parent waits for a subagent any more, and no client may resume it.
    if (record.parent !== undefined)
      return sessions.end(session, { reason: "terminated", terminated_by: "daemon", message: "interrupted" });
  }
  await offer(context, session, left);
}

/** Asks again what waits in a session that had no turn under way. */
async function askAgain(context: HubContext, record: SessionRecord): Promise<void> {
  const { log, sessions } = context;
  const left = await leftQuestions(log, record);
  const session = sessions.serve({ ...record, asked_after: askedAfter(record) });
  await sessions.keepAgain(session);
  await takeBack(sessions, record, left);
  await offer(context, session, left);
}

/** Withdraws what an earlier run asked clients. A late answer is rejected as such. */
async function takeBack(
  sessions: ServedSessions,
  record: SessionRecord,
  left: readonly LeftQuestion[],
): Promise<void> {
  for (const { key } of left) {
    sessions.asking.settle(key, { session: record.id, tenant: record.tenant });
    await sessions.append(record, { message: cancelOf(key) });
  }
}

function offer(
  { harness, onError }: HubContext,
  { id, clients, record: { key, tenant } }: LiveSession,
  left: readonly LeftQuestion[],
): Promise<void> {
  return offerAgain(harness.approvals, { id, key, tenant, clients }, { left, onError });
}
