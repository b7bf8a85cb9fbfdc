import { type JsonObject, membersOf, readUpdate, updateIn } from "@reins/acp";
import { interruptedUpdate } from "@reins/bridge";
import type { Draft, PlacedEntry } from "@reins/ledger";
import { type Harness, lifecycleDraft, resultDraft, type Subject, sessionKey } from "@reins/supervisor";
import { z } from "zod";
import { isPreparationRecord } from "../control/control-point.ts";
import type { EventLog } from "../log/event-log.ts";
import type { LoggedEvent } from "../log/logged-event.ts";
import { type Session, TURN_OVER, turnsOf, UPDATE } from "../sessions/session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { HubContext } from "./context.ts";

const PAGE = 500;

/** Reads page by page, each after the last item of the one before, until a page is empty. */
export async function* paged<Item>(
  read: (last: Item | undefined) => Promise<readonly Item[]>,
): AsyncGenerator<Item, void> {
  for (let last: Item | undefined; ; ) {
    const page = await read(last);
    if (page.length === 0) return;
    yield* page;
    last = page.at(-1);
  }
}

/** The events of a channel of the log after a position. */
export function eventsAfter(
  log: Pick<EventLog, "page">,
  tenant: string,
  channel: string,
  after = 0,
): AsyncGenerator<LoggedEvent, void> {
  return paged((last) => log.page(tenant, [channel], last?.order ?? after));
}

/**
 * Records that a turn was cut off, and an unknown outcome for each allowed action without a result. Returns whether it
 * was: a turn whose entry is in the ledger, or in the log, had ended.
 */
export async function recordInterruption(
  { harness, log }: Pick<HubContext, "harness" | "log">,
  record: SessionRecord,
): Promise<boolean> {
  const { ledger } = harness;
  const subject = await subjectOfSession(harness, record);
  const [newest] = await ledger.read({ entity_id: sessionKey(subject), order: "newest", limit: 1 });
  const { completed_at } = membersOf(newest?.entry.quality === "turn" ? newest.entry.payload : undefined);
  if (typeof completed_at === "string" && completed_at >= record.last_activity) return false;
  const concluded = await concludedTurn(log, record);
  if (concluded) {
    const [tag] = concluded.tags ?? [];
    const [known] = await ledger.read({ entity_id: sessionKey(subject), tag, limit: 1 });
    if (!known) await harness.record([concluded]);
    return false;
  }
  const open = await withoutEnd(harness, subject);
  const drafts: Draft[] = open.map(({ tool, verdict, enforcement }) => {
    const draft = resultDraft(subject, { tool, outcome: "unknown" }, undefined);
    return {
      ...draft,
      tags: ["unknown"],
      payload: { ...membersOf(draft.payload), verdict, enforcement },
    };
  });
  await harness.record([...drafts, lifecycleDraft(subject, "interrupted")]);
  return true;
}

/** Who acted in a session; of a principal that is gone, what the record of the session says. */
export async function subjectOfSession({ identity }: Harness, record: SessionRecord): Promise<Subject> {
  const { id: session, key, tenant, user, principal: id } = record;
  const acting = record.acts_as ?? record.agent;
  const request = { agent: acting, session, enforcement: "asked" } as const;
  const principal = await identity.current({ id });
  if (principal) return identity.subjectFor({ ...request, principal, hosted: true, sessionKey: key });
  const rightless = { kind: "user", roles: [], scopes: [], agents: [], started: "api" } as const;
  const refused = identity.refusedSubject({ ...request, principal: { ...rightless, id, tenant, user } });
  return { ...refused, agent: acting, session_key: key };
}

/** Notifies the clients of a session, but for one, that its turn was cut off. */
export function notifyInterrupted(session: Session, why: string, except?: string): Promise<void> {
  const text = `${why} The turn was cut off; what was under way may or may not have happened.`;
  const update = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text },
    _meta: { reins: { interrupted: true } },
  };
  return session.update(update, except);
}

const ENDED: ReadonlySet<unknown> = new Set(["completed", "failed"]);

/** Logs an end for every open call and worker of a turn that was cut off, so that no client shows it as running. */
export async function endCalls(session: Session, turn_after: number | undefined): Promise<void> {
  const { log } = session.hub;
  await log.written();
  const { calls, workers } = await leftOpen(log, { ...session.record, turn_after });
  for (const worker of workers) {
    const ended = interruptedUpdate(worker, session.hub.clock.now().toISOString());
    if (ended) await session.update(ended);
  }
  for (const toolCallId of calls) {
    const text = "It was cut off; whether it happened is not known.";
    await session.update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "failed",
      content: [{ type: "content", content: { type: "text", text } }],
      _meta: { reins: { interrupted: true, outcome: "unknown" } },
    });
  }
}

/** The calls of a turn without an end, and the last update of each of its workers. */
async function leftOpen(
  log: EventLog,
  { tenant, id, turn_after = 0 }: SessionRecord,
): Promise<{ readonly calls: ReadonlySet<string>; readonly workers: Iterable<JsonObject> }> {
  const open = new Set<string>();
  const workers = new Map<unknown, JsonObject>();
  for await (const { message } of eventsAfter(log, tenant, id, turn_after)) {
    if (message.method !== UPDATE) continue;
    const { kind, update } = updateIn(message.params);
    if (kind === "worker_update") workers.set(update.workerId, update);
    if (kind !== "tool_call" && kind !== "tool_call_update") continue;
    const { toolCallId, status } = readUpdate(kind, update);
    if (toolCallId === undefined) continue;
    if (ENDED.has(status)) open.delete(toolCallId);
    else open.add(toolCallId);
  }
  return { calls: open, workers: workers.values() };
}

const TurnOver = z.object({
  method: z.literal(TURN_OVER),
  params: z.object({
    draft: z.object({
      quality: z.literal("turn"),
      actor: z.string(),
      target: z.string(),
      entity_id: z.string(),
      tags: z.array(z.string()),
      payload: z.unknown(),
    }),
  }),
});

/** The entry of the turn that was under way, if it came to its end and only the ledger does not know it. */
async function concludedTurn(
  log: EventLog,
  { tenant, id, turn_after = 0 }: SessionRecord,
): Promise<Draft | undefined> {
  let concluded: Draft | undefined;
  for await (const { message } of eventsAfter(log, tenant, turnsOf(id), turn_after))
    concluded = TurnOver.safeParse(message).data?.params.draft ?? concluded;
  return concluded;
}

/** An allowed action without a result. */
interface OpenAction {
  readonly tool: string;
  readonly verdict: string;
  /** As its verdict has it. */
  readonly enforcement: unknown;
}

/** The allowed actions since the last turn ended that have no result, but for those of graphs: their runtime records them. */
async function withoutEnd({ ledger }: Harness, subject: Subject): Promise<readonly OpenAction[]> {
  const ended = new Set<unknown>();
  const open: OpenAction[] = [];
  const range = { entity_id: sessionKey(subject), order: "newest", limit: PAGE } as const;
  const entries = paged((last: PlacedEntry | undefined) => ledger.read({ ...range, after: last?.seq }));
  for await (const { entry } of entries) {
    const { verdict, event_type, enforcement = "asked", subject: acted } = membersOf(entry.payload);
    if (entry.quality === "turn") break;
    if (entry.quality === "tool_result") ended.add(verdict);
    if (entry.quality !== "policy_verdict" || event_type !== "pre_action") continue;
    if (membersOf(acted).graph !== undefined) continue;
    // What was read for a request to a model has no result of its own.
    if (isPreparationRecord(entry.payload)) continue;
    if ((verdict === "allowed" || verdict === "modify") && !ended.has(entry.cid))
      open.push({ tool: entry.target ?? "unknown", verdict: entry.cid, enforcement });
  }
  return open.reverse();
}
