import type { Draft } from "@reins/ledger";
import type { KillJournal, KillReport, UnrecordedKill } from "@reins/runner";
import { type Harness, sessionKey } from "@reins/supervisor";
import { sessionTables } from "../sessions/tables.ts";

/** How an entry says that it is about an order. */
function tagOf(id: string): string {
  return `kill:${id}`;
}

/** Writes down what was ended: in the chain of the session it was about, else in the system's. Gives the entry. */
export async function recordKill(
  harness: Harness,
  report: KillReport,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { id, by, target, gone, left, sight, sessions, inside, reason, at } = report;
  const chain = await chainOf(harness, report);
  const draft: Draft = {
    quality: "kill",
    actor: by,
    target: target.name ?? "*",
    ...(chain !== undefined && { entity_id: chain }),
    tags: ["kill", target.kind, tagOf(id)],
    payload: { target, at, reason, gone, left, sight, sessions, inside, ...more },
  };
  const { entries } = await harness.record([draft]);
  return entries[0]?.cid ?? "";
}

/** Writes down what an earlier run, or somebody while none ran, has ended and could not write down. */
export async function recordLeftKills(harness: Harness, journal: KillJournal): Promise<void> {
  for (const kill of journal.unrecorded()) {
    const [known] = await harness.ledger.read({ tag: tagOf(kill.order.id), limit: 1 });
    if (!known) await recordKill(harness, kill.report ?? unknownEnd(kill), { late: true, ...endOf(kill) });
    // One by one, because somebody else may order another meanwhile.
    journal.recorded(kill.order.id);
  }
  journal.forgetRecorded();
}

/** An order that may have been carried out, or only in part. */
function unknownEnd({ order, at }: UnrecordedKill): KillReport {
  const { target, tenant, by, reason, id } = order;
  return {
    ...{ id, tenant, by, reason, at },
    target: { kind: target.kind, name: target.kind === "all" ? null : target.name },
    ...{ gone: [], left: [], sight: "group", sessions: [], inside: [] },
  };
}

function endOf({ report }: UnrecordedKill): { readonly outcome?: "unknown" } {
  return report ? {} : { outcome: "unknown" };
}

async function chainOf({ store }: Harness, { target, tenant }: KillReport): Promise<string | undefined> {
  const { kind, name: id } = target;
  if (kind !== "session" || id === null || tenant === null) return undefined;
  const record = await store.query(sessionTables, "get", { id, tenant });
  return record && sessionKey({ agent: record.agent, tenant, session: id, session_key: record.key });
}
