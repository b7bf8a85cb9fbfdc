import type { Approval, Approvals } from "@reins/supervisor";
import { type JsonObject, membersOf } from "../acp/message.ts";
import { offerRequest } from "../governor/offer.ts";
import type { EventLog } from "../log/event-log.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { cancelOf, type SessionClients } from "./session-clients.ts";

/** A question that an earlier run put to clients and nobody answered. */
export interface LeftQuestion {
  readonly key: string;
  readonly params: JsonObject;
}

/** The questions of the turn that an earlier run was in the middle of, the oldest first. */
export async function leftQuestions(
  log: EventLog,
  { tenant, id, turn_after = 0 }: SessionRecord,
): Promise<readonly LeftQuestion[]> {
  const left = new Map<string, LeftQuestion>();
  for (let after = turn_after; ; ) {
    const page = await log.page(tenant, [id], after);
    if (page.length === 0) return [...left.values()];
    for (const { order, message, request } of page) {
      after = order;
      if (request !== undefined) left.set(request, { key: request, params: membersOf(message.params) });
      else for (const key of left.keys()) if (isCancelOf(message, key)) left.delete(key);
    }
  }
}

/** Puts a question to clients again whose approval still waits, until that is settled wherever. */
export async function offerAgain(
  approvals: Approvals,
  session: { readonly id: string; readonly tenant: string; readonly clients: SessionClients },
  { params }: LeftQuestion,
): Promise<void> {
  const { approval: id } = membersOf(membersOf(params._meta).reins);
  if (typeof id !== "string") return;
  const over = new AbortController();
  const unsubscribe = approvals.subscribe(({ approval }) => {
    if (approval.id === id && approval.state !== "pending") over.abort(new Error("the question is answered"));
  });
  try {
    const approval: Approval | undefined = await approvals.get(id, session.tenant);
    if (approval?.state !== "pending") return;
    const context = { harness: { approvals }, clients: () => session.clients };
    await offerRequest(context, session, params)(approval, over.signal);
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    unsubscribe();
  }
}

function isCancelOf({ method, params }: JsonObject, key: string): boolean {
  const cancel = cancelOf(key);
  return method === cancel.method && membersOf(params).requestId === membersOf(cancel.params).requestId;
}
