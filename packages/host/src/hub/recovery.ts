import { membersOf } from "@reins/acp";
import type { RunState } from "@reins/supervisor";
import { runEnd } from "../governor/turn.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { HubContext } from "./context.ts";
import { endCalls, notifyInterrupted, recordInterruption } from "./interruption.ts";
import { askedAfter, type LeftQuestion, leftQuestions, offerAgain } from "./questions.ts";
import type { Session } from "./session.ts";
import { cancelOf } from "./session-clients.ts";
import type { Sessions } from "./sessions.ts";

const PAGE = 500;

/**
 * Recovers what an earlier process left, in all tenants: marks running turns as interrupted, and asks open questions
 * again, also of turns that had ended.
 */
export async function recover(context: HubContext): Promise<void> {
  const { harness, sessions } = context;
  for (const { id: tenant } of await harness.identity.listTenants()) {
    const running = await runningSessions(sessions, tenant);
    const waiting = await sessionsThatWait(context, tenant);
    for (const record of running) await recoverTurn(context, record, waiting.has(record.id));
    for (const { id } of running) waiting.delete(id);
    for (const id of waiting) {
      const record = await sessions.read(id, tenant);
      if (record && !record.ended) await askAgain(context, record);
    }
    // After the turns that came to their end are in the ledger.
    await endInterruptedRuns(context, tenant);
  }
}

/** The sessions of a tenant that were in the middle of a turn. */
async function runningSessions(sessions: Sessions, tenant: string): Promise<readonly SessionRecord[]> {
  const running: SessionRecord[] = [];
  for (;;) {
    const range = { tenant, state: "running", after: running.at(-1)?.id, limit: PAGE } as const;
    const page = await sessions.stored(range);
    running.push(...page);
    if (page.length < PAGE) return running;
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

/** Marks a turn that an earlier process was in the middle of as interrupted, and asks its open questions again. */
async function recoverTurn(context: HubContext, record: SessionRecord, waits: boolean): Promise<void> {
  const { harness, log, sessions } = context;
  const left = await leftQuestions(log, record);
  const principal = await harness.identity.current({ id: record.principal });
  const isCut = !principal || (await recordInterruption(harness, log, record, principal));
  const session = sessions.serve(record);
  await session.apply({ type: "recovered", asked_after: waits ? askedAfter(record) : undefined });
  await takeBack(sessions, record, left);
  if (isCut) {
    await endCalls({ log, sessions }, record);
    await notifyInterrupted(sessions, record, "Reins was restarted.");
    // The parent of a subagent does not wait for it any more, and no client may resume it.
    if (record.parent !== undefined)
      return sessions.end(session, { reason: "terminated", terminated_by: "daemon", message: "interrupted" });
  }
  await offer(context, session, left);
}

/** Asks the open questions of a session again that had no turn running. */
async function askAgain(context: HubContext, record: SessionRecord): Promise<void> {
  const { log, sessions } = context;
  const left = await leftQuestions(log, record);
  const session = sessions.serve(record);
  await session.apply({ type: "recovered", asked_after: askedAfter(record) });
  await takeBack(sessions, record, left);
  await offer(context, session, left);
}

/** Withdraws what an earlier run asked clients. A late answer is rejected as such. */
async function takeBack(
  sessions: Sessions,
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
  { id, clients, record: { key, tenant } }: Session,
  left: readonly LeftQuestion[],
): Promise<void> {
  return offerAgain(harness.approvals, { id, key, tenant, clients }, { left, onError });
}

/**
 * Ends the runs of hosted sessions that an earlier process left unfinished: their agents ended with it. A run ends as the
 * turn with its id did; without an entry of that turn, it was interrupted and has failed. Runs that agents elsewhere
 * report are left alone.
 */
async function endInterruptedRuns(context: HubContext, tenant: string): Promise<void> {
  const { harness, onError } = context;
  for (let after = ""; ; ) {
    const page = await harness.runs.unfinished(tenant, after, PAGE);
    for (const run of page) {
      after = run.run_id;
      await endRun(context, run).catch(onError);
    }
    if (page.length < PAGE) return;
  }
}

async function endRun({ harness, clock, sessions }: HubContext, run: RunState): Promise<void> {
  const { tenant, run_id, session_id, updated_at: before } = run;
  const record = await sessions.read(session_id, tenant);
  if (!record) return;
  const tagged = await harness.ledger.read({ tag: `turn:${run_id}`, limit: PAGE });
  const turn = tagged.find(({ entry }) => entry.quality === "turn");
  const stop_reason = String(membersOf(turn?.entry.payload).stop_reason ?? "interrupted");
  const now = clock.now().toISOString();
  const payload = membersOf(run.payload);
  const lifecycle = {
    ...payload,
    status: runEnd(stop_reason),
    // A clock that was set back since does not keep a run from ending.
    updated_at: Date.parse(before) > Date.parse(now) ? before : now,
    metadata: { ...membersOf(payload.metadata), stop_reason },
  };
  await harness.runs.note({ ...harness.identity.local(), tenant }, "run_lifecycle", lifecycle);
  harness.forward(tenant, {
    event_type: "run_lifecycle",
    session_id,
    agent_id: record.acts_as ?? record.agent,
    depth: record.depth ?? 0,
    timestamp: now,
    payload: lifecycle,
  });
}
