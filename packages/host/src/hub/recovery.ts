import { CANCEL_REQUEST, type JsonObject, membersOf, readParams, reinsMeta } from "@reins/acp";
import { graphTables } from "@reins/graph/tables";
import { errorMessage } from "@reins/kit";
import { type Approval, type Approvals, type Harness, type RunState, readReport } from "@reins/supervisor";
import { offerApproval } from "../control/ask-clients.ts";
import { runEnd } from "../governor/run-turn.ts";
import type { EventLog } from "../log/event-log.ts";
import type { Session } from "../sessions/session.ts";
import { cancelOf } from "../sessions/session-clients.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { HubContext } from "./context.ts";
import { endCalls, eventsAfter, notifyInterrupted, paged, recordInterruption } from "./interruption.ts";

const PAGE = 500;

/**
 * Recovers what an earlier process left, in all tenants or in those that are named: marks running turns as interrupted, and asks open questions
 * again, also of turns that had ended. A session that cannot be recovered is an error of its own: it stays as it is until
 * the next start, and the others are recovered.
 */
export async function recover(hub: HubContext, tenants?: readonly string[]): Promise<void> {
  const { harness, sessions } = hub;
  const graphs = new Set(await harness.store.query(graphTables, "unfinished", null));
  for (const tenant of tenants ?? (await harness.identity.listTenants()).map(({ id }) => id)) {
    const running = await sessionsInTurn(sessions, tenant);
    const asking = await sessionsThatAsk(harness, tenant);
    for (const record of running) await recoverOne(hub, record, asking.delete(record.id), graphs);
    for (const id of asking) {
      const record = await sessions.read(id, tenant);
      if (record && !record.ended) await recoverOne(hub, record, true, graphs);
    }
    // After the turns that came to their end are in the ledger.
    await endInterruptedRuns(hub, tenant, graphs);
  }
}

/** The sessions of a tenant that were in the middle of a turn. All are read before the first one changes. */
async function sessionsInTurn(sessions: Sessions, tenant: string): Promise<readonly SessionRecord[]> {
  const range = { tenant, state: "running", limit: PAGE } as const;
  return Array.fromAsync(
    paged((last: SessionRecord | undefined) => sessions.stored({ ...range, after: last?.id })),
  );
}

/** The sessions of a tenant in which an approval waits. */
async function sessionsThatAsk({ approvals }: Harness, tenant: string): Promise<Set<string>> {
  const range = { tenant, state: "pending", order: "oldest", limit: PAGE } as const;
  const pending = paged((last: Approval | undefined) => approvals.list({ ...range, after: last?.id }));
  return new Set((await Array.fromAsync(pending)).map(({ session }) => session));
}

async function recoverOne(
  hub: HubContext,
  record: SessionRecord,
  asks: boolean,
  graphs: ReadonlySet<string>,
): Promise<void> {
  try {
    await recoverSession(hub, record, asks, graphs);
  } catch (error) {
    const why = `the session ${record.id} could not be recovered: ${errorMessage(error)}`;
    hub.onError(new Error(why, { cause: error }));
  }
}

/** Marks the turn of a session that an earlier process was in the middle of as interrupted, and asks its questions again. */
async function recoverSession(
  hub: HubContext,
  record: SessionRecord,
  asks: boolean,
  graphs: ReadonlySet<string>,
): Promise<void> {
  const { log, sessions } = hub;
  const left = await leftQuestions(log, record);
  const isCut = record.state === "running" && (await recordInterruption(hub, record));
  const session = sessions.serve(record);
  await session.apply({ type: "recovered", asked_after: asks ? askedAfter(record) : undefined });
  await withdrawLeft(session, left);
  if (isCut) {
    await endCalls(session, record.turn_after);
    await notifyInterrupted(session, "Reins was restarted.");
    // The parent of a subagent does not wait for it any more, unless that is a run that goes on.
    if (record.parent !== undefined && !graphs.has(`${record.tenant}/${record.continued_by}`))
      return session.end({ reason: "terminated", terminated_by: "daemon", message: "interrupted" });
  }
  await offerAgain(session, left, graphs);
}

/** Withdraws what an earlier run asked clients. A late answer is rejected as such. */
async function withdrawLeft(session: Session, left: readonly LeftQuestion[]): Promise<void> {
  const { id, record, hub } = session;
  for (const { key } of left) {
    hub.sessions.asking.settle(key, { session: id, tenant: record.tenant });
    await session.append({ message: cancelOf(key) });
  }
}

/** A question of an earlier process without an answer. */
interface LeftQuestion {
  readonly key: string;
  /** The approval and the call of the agent that it says it is about. */
  readonly approval?: string;
  readonly toolCallId?: string;
}

/** The position in the log after which an earlier process may have left questions of a session. */
function askedAfter({ turn_after, asked_after }: SessionRecord): number {
  if (turn_after === undefined || asked_after === undefined) return turn_after ?? asked_after ?? 0;
  return Math.min(turn_after, asked_after);
}

/** The questions of a session that an earlier run put to clients and that are unanswered, the oldest first. */
async function leftQuestions(log: EventLog, record: SessionRecord): Promise<readonly LeftQuestion[]> {
  const left = new Map<string, LeftQuestion>();
  for await (const { message, request } of eventsAfter(log, record.tenant, record.id, askedAfter(record)))
    if (request !== undefined) left.set(request, readQuestion(request, message));
    else for (const key of left.keys()) if (isCancelOf(message, key)) left.delete(key);
  return [...left.values()];
}

/** A session whose clients are asked again. */
type AskedSession = Pick<Session, "id" | "clients"> & {
  readonly record: Pick<SessionRecord, "key" | "tenant">;
  readonly hub: {
    readonly harness: { readonly approvals: Approvals };
    readonly onError: (error: unknown) => void;
  };
};

/**
 * Puts the questions of a session to its clients again that still wait for an answer, until each is settled, here or
 * elsewhere. They are made from the approvals; the log says only which call of the agent each was about.
 */
export async function offerAgain(
  session: AskedSession,
  left: readonly LeftQuestion[],
  graphs: ReadonlySet<string> = new Set(),
): Promise<void> {
  const { id, hub, record } = session;
  const { tenant, key } = record;
  const pending = await hub.harness.approvals.list({
    tenant,
    session: id,
    state: "pending",
    order: "oldest",
  });
  for (const approval of pending) {
    // An agent that is not hosted here may call its session what it likes.
    if (approval.session_key !== key) continue;
    // The action of a graph asks again itself.
    if (graphs.has(`${tenant}/${approval.turn?.split(":", 1)[0]}`)) continue;
    const toolCallId = left.find((question) => question.approval === approval.id)?.toolCallId;
    offerOne(session, approval, toolCallId ?? `reins-${approval.id}`).catch(hub.onError);
  }
}

async function offerOne(session: AskedSession, { id }: Approval, toolCallId: string): Promise<void> {
  const { harness } = session.hub;
  const { approvals } = harness;
  const over = new AbortController();
  const unsubscribe = approvals.subscribe(({ approval }) => {
    if (approval.id === id && approval.state !== "pending") over.abort(new Error("the question is answered"));
  });
  try {
    const approval: Approval | undefined = await approvals.get(id, session.record.tenant);
    if (approval?.state !== "pending") return;
    const asked = { id: session.id, clients: session.clients, context: { harness } };
    await offerApproval(asked, toolCallId)(approval, over.signal);
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    unsubscribe();
  }
}

function readQuestion(key: string, { params }: JsonObject): LeftQuestion {
  const { toolCallId } = readParams("session/request_permission", params).toolCall;
  const { approval } = reinsMeta(params);
  return {
    key,
    ...(approval !== undefined && { approval }),
    ...(toolCallId !== undefined && { toolCallId }),
  };
}

function isCancelOf({ method, params }: JsonObject, key: string): boolean {
  const cancel = cancelOf(key);
  const requestIdIn = (of: unknown) => readParams(CANCEL_REQUEST, of).requestId;
  return method === cancel.method && requestIdIn(params) === requestIdIn(cancel.params);
}

/**
 * Ends the runs of hosted sessions that an earlier process left unfinished: their agents ended with it. A run ends as the
 * turn with its id did; without an entry of that turn, it was interrupted and has failed. Runs that agents elsewhere
 * report are left alone.
 */
async function endInterruptedRuns(
  hub: HubContext,
  tenant: string,
  graphs: ReadonlySet<string>,
): Promise<void> {
  const { runs } = hub.harness;
  // The runtime of graphs continues its own, or ends them.
  for await (const run of paged((last: RunState | undefined) =>
    runs.unfinished(tenant, last?.run_id ?? "", PAGE),
  ))
    if (!graphs.has(`${tenant}/${run.run_id}`)) await endRun(hub, run).catch(hub.onError);
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
  const lifecycle = readReport("run_lifecycle", {
    ...payload,
    status: runEnd(stop_reason),
    // A clock that was set back since does not keep a run from ending.
    updated_at: Date.parse(before) > Date.parse(now) ? before : now,
    metadata: { ...membersOf(payload.metadata), stop_reason },
  });
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
