import type { SessionRecord } from "../sessions/session-record.ts";
import { sessionTables } from "../sessions/tables.ts";
import type { HubContext } from "./context.ts";
import { endCalls, recordInterruption, tellInterrupted } from "./interruption.ts";
import { leftQuestions, offerAgain } from "./left-questions.ts";
import { cancelOf } from "./session-clients.ts";

const MOST = 10_000;

/** Marks what an earlier run left in the middle of a turn as interrupted, in all tenants. */
export async function recover(context: HubContext): Promise<void> {
  const { harness } = context;
  for (const { id: tenant } of await harness.identity.listTenants()) {
    const range = { tenant, state: "running" as const, limit: MOST };
    for (const record of await harness.store.query(sessionTables, "list", range))
      await interrupted(context, record);
  }
}

/** A turn that an earlier run was in the middle of is over; what it asked and still counts is asked again. */
async function interrupted(
  { harness, log, sessions, onError }: HubContext,
  record: SessionRecord,
): Promise<void> {
  const left = await leftQuestions(log, record);
  const principal = await harness.identity.current({ id: record.principal });
  const isCut = !principal || (await recordInterruption(harness, log, record, principal));
  const session = sessions.serve({ ...record, state: "idle", turn_after: undefined });
  await sessions.keepAgain(session);
  if (!isCut) return;
  for (const { key } of left) {
    // An answer to it comes too late, and is told so.
    sessions.asking.settle(key, { session: record.id, tenant: record.tenant });
    await sessions.append(record, { message: cancelOf(key) });
  }
  await endCalls({ log, sessions }, record);
  await tellInterrupted(sessions, record, "Reins was restarted.");
  // Nobody waits for a subagent any more, and nobody may take it up.
  if (record.parent !== undefined)
    return sessions.end(session, { reason: "terminated", terminated_by: "daemon", message: "interrupted" });
  const { id, clients } = session;
  await offerAgain(
    harness.approvals,
    { id, key: record.key, tenant: record.tenant, clients },
    { left, onError },
  );
}
