import type { Subject } from "@reins/policy";
import type { Use } from "../limits/tables.ts";
import { sessionKey } from "../record/drafts.ts";

/** Whose calls: those of one user's agent in one session. */
type Holder = Pick<Subject, "user" | "tenant" | "agent" | "session" | "session_key">;

/** An allowed call whose end was not reported yet. */
export interface OpenCall {
  /** The content id of its verdict. */
  readonly entry: string;
  readonly tool: string;
  readonly event_type: string;
  readonly uses: readonly Use[];
  readonly at: number;
}

/** How to tell which call ended. An agent that kept the entry of the verdict names it; else the oldest that fits counts. */
export interface CallEnd {
  readonly event_type: string;
  readonly entry?: string | undefined;
  readonly tool?: string | undefined;
}

/** How many calls of one session are remembered. */
const MAX_OPEN = 1_000;
/** How many sessions are. */
const MAX_SESSIONS = 10_000;

/** The calls of each session that are under way. Bounded: an agent that never tells an end pushes out its own oldest. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall[]>();

  /** Remembers a call. */
  add(holder: Holder, call: OpenCall): void {
    const session = keyOf(holder);
    const calls = this.#calls.get(session) ?? [];
    calls.push(call);
    if (calls.length > MAX_OPEN) calls.shift();
    this.#calls.delete(session);
    this.#calls.set(session, calls);
    if (this.#calls.size <= MAX_SESSIONS) return;
    const [oldest] = this.#calls.keys();
    if (oldest !== undefined) this.#calls.delete(oldest);
  }

  /** Takes out the call that ended; `undefined` when no allowed call matches. */
  take(holder: Holder, { event_type, entry, tool }: CallEnd): OpenCall | undefined {
    const session = keyOf(holder);
    const calls = this.#calls.get(session);
    if (!calls) return undefined;
    const index = calls.findIndex((call) =>
      entry === undefined
        ? call.event_type === event_type && (tool === undefined || call.tool === tool)
        : call.entry === entry,
    );
    if (index < 0) return undefined;
    const [found] = calls.splice(index, 1);
    if (calls.length === 0) this.#calls.delete(session);
    return found;
  }

  /** Takes out all calls of a session that ended; what came of them is unknown. */
  takeAll(holder: Holder): readonly OpenCall[] {
    const session = keyOf(holder);
    const calls = this.#calls.get(session) ?? [];
    this.#calls.delete(session);
    return calls;
  }
}

/** Agents choose the names of their sessions, so two users may both have a "main"; no name of a user holds a slash. */
function keyOf(holder: Holder): string {
  return `${holder.user}/${sessionKey(holder)}`;
}
