import { CANCEL_REQUEST, type JsonObject, type RequestId, readParams, reinsMeta } from "@reins/acp";
import type { Approval, Approvals } from "@reins/supervisor";
import { offerApproval } from "../control/ask-clients.ts";
import type { EventLog } from "../log/event-log.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { cancelOf, type SessionClients } from "./session-clients.ts";

const PATTERN = /^reins-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The id under which a question goes to clients: the same for all of them, and after they come back. */
export function questionId(key: string): string {
  return `reins-${key}`;
}

/** The question that an id stands for, if it is one of ours. */
export function questionIn(id: RequestId): string | undefined {
  return typeof id === "string" ? PATTERN.exec(id)?.[1] : undefined;
}

/** How many settled questions are remembered, so that a late answer differs from one to no question. */
const MOST_SETTLED = 10_000;

/** Where a question was asked. */
export interface AskedIn {
  readonly session: string;
  readonly tenant: string;
}

/** The questions of all sessions: those that wait, by who asks them, and where those were asked that were settled lately. */
export class AskedQuestions<Asker extends AskedIn> {
  readonly #waiting = new Map<string, Asker>();
  readonly #settled = new Map<string, AskedIn>();

  /** Who asks one that waits. */
  get(key: string): Asker | undefined {
    return this.#waiting.get(key);
  }

  set(key: string, asker: Asker): void {
    this.#waiting.set(key, asker);
  }

  settle(key: string, { session, tenant }: AskedIn): void {
    this.#waiting.delete(key);
    this.#settled.set(key, { session, tenant });
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > MOST_SETTLED && oldest !== undefined) this.#settled.delete(oldest);
  }

  /** Where a question was asked, also one that was settled. */
  askedIn(key: string): AskedIn | undefined {
    return this.#waiting.get(key) ?? this.#settled.get(key);
  }
}

/** A question of an earlier process without an answer. */
export interface LeftQuestion {
  readonly key: string;
  /** The approval and the call of the agent that it says it is about. */
  readonly approval?: string;
  readonly toolCallId?: string;
}

/** The position in the log after which an earlier process may have left questions of a session. */
export function askedAfter({ turn_after, asked_after }: SessionRecord): number {
  if (turn_after === undefined || asked_after === undefined) return turn_after ?? asked_after ?? 0;
  return Math.min(turn_after, asked_after);
}

/** The questions of a session that an earlier run put to clients and that are unanswered, the oldest first. */
export async function leftQuestions(log: EventLog, record: SessionRecord): Promise<readonly LeftQuestion[]> {
  const { tenant, id } = record;
  const left = new Map<string, LeftQuestion>();
  for (let after = askedAfter(record); ; ) {
    const page = await log.page(tenant, [id], after);
    if (page.length === 0) return [...left.values()];
    for (const { order, message, request } of page) {
      after = order;
      if (request !== undefined) left.set(request, readQuestion(request, message));
      else for (const key of left.keys()) if (isCancelOf(message, key)) left.delete(key);
    }
  }
}

/** The session that a question is put to the clients of. */
interface Asked {
  readonly id: string;
  readonly key: string;
  readonly tenant: string;
  readonly clients: SessionClients;
}

/**
 * Puts the questions to clients again that still wait for an answer, until each is settled wherever. They are made from
 * the approvals; the log says only which call of the agent each was about.
 */
export async function offerAgain(
  approvals: Approvals,
  session: Asked,
  { left, onError }: { readonly left: readonly LeftQuestion[]; readonly onError: (error: unknown) => void },
): Promise<void> {
  const { id, tenant } = session;
  const pending = await approvals.list({ tenant, session: id, state: "pending", order: "oldest" });
  for (const approval of pending) {
    // An agent that is not hosted here may call its session what it likes.
    if (approval.session_key !== session.key) continue;
    const toolCallId = left.find((question) => question.approval === approval.id)?.toolCallId;
    offerOne(approvals, session, approval, toolCallId ?? `reins-${approval.id}`).catch(onError);
  }
}

async function offerOne(
  approvals: Approvals,
  session: Asked,
  { id }: Approval,
  toolCallId: string,
): Promise<void> {
  const over = new AbortController();
  const unsubscribe = approvals.subscribe(({ approval }) => {
    if (approval.id === id && approval.state !== "pending") over.abort(new Error("the question is answered"));
  });
  try {
    const approval: Approval | undefined = await approvals.get(id, session.tenant);
    if (approval?.state !== "pending") return;
    await offerApproval({ harness: { approvals } }, session, toolCallId)(approval, over.signal);
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
