import type { Draft } from "@reins/ledger";
import type { Subject } from "@reins/policy";
import type { Use } from "../limits/tables.ts";
import { sessionKey } from "../record/record.ts";
import type { RequestTokens } from "./decision.ts";

/** The owner of calls: one user's agent in one session. */
type Holder = Pick<Subject, "user" | "tenant" | "agent" | "session" | "session_key">;

/** An allowed call whose end was not reported yet. */
export interface OpenCall {
  /** The content id of its verdict. */
  readonly entry: string;
  readonly tool: string;
  readonly event_type: string;
  readonly uses: readonly Use[];
  readonly at: number;
  /** Whether it holds a reservation, which only its own end releases. */
  readonly isReserved?: boolean;
}

/** Identifies the call that ended: by the entry of its verdict, else the oldest that matches. */
export interface CallEnd {
  readonly event_type: string;
  readonly entry?: string | undefined;
  readonly tool?: string | undefined;
  /** How it ended, and the tokens of a request to a model: for observers. */
  readonly outcome?: string | undefined;
  readonly tokens?: RequestTokens | undefined;
}

/** The most open calls of one session. */
const MAX_OPEN = 1_000;
/** The most sessions with open calls. */
const MAX_SESSIONS = 10_000;

/** The calls of each session that are under way. Bounded: an agent that never reports an end loses its own oldest. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall[]>();

  /** Adds a call. */
  add(holder: Holder, call: OpenCall): void {
    const session = keyOf(holder);
    const calls = this.#calls.get(session) ?? [];
    calls.push(call);
    // A prompt stays: what its turn used is still to be charged.
    if (calls.length > MAX_OPEN)
      calls.splice(
        Math.max(
          0,
          calls.findIndex((one) => one.event_type !== "pre_prompt"),
        ),
        1,
      );
    this.#calls.delete(session);
    this.#calls.set(session, calls);
    if (this.#calls.size <= MAX_SESSIONS) return;
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }

  /** Removes the call that ended; `undefined` when no allowed call matches. */
  take(holder: Holder, { event_type, entry, tool }: CallEnd): OpenCall | undefined {
    const session = keyOf(holder);
    const calls = this.#calls.get(session);
    if (!calls) return undefined;
    const index = calls.findIndex(
      (call) =>
        call.event_type === event_type &&
        (entry === undefined
          ? !call.isReserved && (tool === undefined || call.tool === tool)
          : call.entry === entry),
    );
    if (index < 0) return undefined;
    const [found] = calls.splice(index, 1);
    if (calls.length === 0) this.#calls.delete(session);
    return found;
  }

  /** The call whose verdict has an entry. */
  find(holder: Holder, entry: string): OpenCall | undefined {
    return this.#calls.get(keyOf(holder))?.find((call) => call.entry === entry);
  }

  /** Removes all calls of a session that ended, but for reserved ones; their outcome is unknown. */
  takeAll(holder: Holder): readonly OpenCall[] {
    const session = keyOf(holder);
    const { kept = [], ended = [] } = Object.groupBy(this.#calls.get(session) ?? [], ({ isReserved }) =>
      isReserved ? "kept" : "ended",
    );
    if (kept.length > 0) this.#calls.set(session, kept);
    else this.#calls.delete(session);
    return ended;
  }
}

/** Agents choose the names of their sessions, so two users may both have a "main"; no name of a user holds a slash. */
function keyOf(holder: Holder): string {
  return `${holder.user}/${sessionKey(holder)}`;
}

/** The mark of an action that no verdict came before. */
export const UNGATED = "ungated";

/** The entry for the begin or end of a session, with what was under way when it ended. */
export function lifecycleDraft(
  subject: Subject,
  change: string,
  unfinished: readonly OpenCall[] = [],
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  return {
    quality: "session_lifecycle",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [change],
    payload: {
      change,
      subject: { ...subject },
      ...(unfinished.length > 0 && {
        unfinished: unfinished.map(({ entry, tool }) => ({ verdict: entry, tool, outcome: "unknown" })),
      }),
    },
  };
}

/** The entry for what came of an action; without an allowed call it is marked as ungated. */
export function resultDraft(
  subject: Subject,
  { tool, outcome }: { readonly tool?: string | undefined; readonly outcome: string },
  call: OpenCall | undefined,
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  const name = tool ?? call?.tool ?? "unknown";
  return {
    quality: "tool_result",
    actor: subject.agent,
    target: name,
    entity_id: sessionKey(subject),
    tags: [outcome, ...(call ? [] : [UNGATED])],
    payload: {
      tool: name,
      outcome,
      verdict: call?.entry ?? null,
      enforcement: call ? subject.enforcement : "observed",
    },
  };
}
