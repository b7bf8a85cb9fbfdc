import { membersOf } from "@reins/acp";
import type { RunState } from "@reins/supervisor";
import { runEnd } from "../governor/turn.ts";
import type { HubContext } from "./context.ts";

const PAGE = 200;

/**
 * Ends the runs of hosted sessions that an earlier Reins left unfinished: their agents ended with it. A run is the turn of
 * the same id, and ends as that did; one whose turn has no entry in the ledger was interrupted, and failed. Runs that
 * agents elsewhere tell of go on.
 */
export async function endInterruptedRuns(context: HubContext, tenant: string): Promise<void> {
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
