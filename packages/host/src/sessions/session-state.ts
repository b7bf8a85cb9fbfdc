import type { Draft } from "@reins/ledger";
import type { SessionEnd, SessionMode, SessionRecord, SessionState } from "./session-record.ts";

/**
 * What a session is doing.
 * - `starting`: an agent is asked to begin it; nothing of it is stored.
 * - `resuming`: an agent is asked to resume it.
 * - `idle`: an agent has it, and no turn runs.
 * - `running`: a turn runs.
 * - `parked`: no agent has it; the next prompt, load or resume finds one.
 * - `interrupted`: its turn was cut off by the end of the process. The next start recovers it.
 * - `ended`: for good, unless it is reopened.
 */
export type SessionPhase = "starting" | "resuming" | "idle" | "running" | "parked" | "interrupted" | "ended";

/** What happens to a session. */
export type SessionEvent =
  /** The agent has accepted it, under its own id and in these folders. */
  | { readonly type: "accepted"; readonly changes: AcceptedChanges }
  /** The agent has it, and the entry of that is in the ledger. */
  | { readonly type: "started" }
  /** The agent has not accepted it. */
  | { readonly type: "failed" }
  /** An agent is asked to resume it. */
  | { readonly type: "resume" }
  /** The agent did not resume it anew, and has it as before. */
  | { readonly type: "retained" }
  /** A turn begins after a position in the log, and is kept in these homes of agents. */
  | { readonly type: "prompted"; readonly turn_after: number; readonly homes?: string | undefined }
  | { readonly type: "turn_ended" }
  /** The entry of its last turn has its position in the ledger. */
  | { readonly type: "turn_recorded" }
  /** Its agent died, was stopped, or was replaced. */
  | { readonly type: "agent_lost" }
  /** Its agent does not have it any more; the entry of that is to be written. */
  | { readonly type: "stopped"; readonly entry: Draft }
  /** A client closed it for now. */
  | { readonly type: "released" }
  /** Reins stops in the middle of its turn. */
  | { readonly type: "cut" }
  /** A new process has dealt with what the last one left; questions still wait after a position in the log. */
  | { readonly type: "recovered"; readonly asked_after: number | undefined }
  | { readonly type: "annotated"; readonly changes: Annotations }
  /** Its agent has given it a title. */
  | { readonly type: "titled"; readonly changes: Pick<SessionRecord, "title"> }
  | { readonly type: "ended"; readonly end: SessionEnd }
  | { readonly type: "reopened"; readonly mode: SessionMode | undefined };

/** What an agent's acceptance changes. */
export type AcceptedChanges = Partial<
  Pick<
    SessionRecord,
    | "agent_session_id"
    | "cwd"
    | "additional_directories"
    | "sealed_servers"
    | "daemon"
    | "wakes"
    | "mutation_scope"
    | "last_activity"
    | "agent_mode"
  >
>;

/** What clients and agents say about a session. */
type Annotations = Partial<
  Pick<SessionRecord, "title" | "metadata" | "mode" | "agent_mode" | "mutation_scope">
>;

/**
 * What the owner of a session does after a transition, in this order.
 * - `notify`: the watchers of sessions.
 * - `cancel`: prompts in the queue, and the agent that is being started for them.
 * - `write`, `write_later`: the record. `write_with_next`: with the next commit, which that of a verdict is.
 * - `record`: the entry of its end in its agent, `session_end`.
 * - `withdraw`: its approvals.
 * - `announce`: its end, to its clients.
 * - `forget`: it is not served any more.
 */
export type SessionEffect =
  | "notify"
  | "cancel"
  | "write"
  | "write_later"
  | "write_with_next"
  | "record"
  | "withdraw"
  | "announce"
  | "forget";

type Row = readonly [to: SessionPhase, ...effects: SessionEffect[]];
type Rows = Readonly<Partial<Record<SessionEvent["type"], Row>>>;

const END: Row = ["ended", "notify", "cancel", "write", "withdraw", "announce", "forget"];

/** Every transition there is. An event without a row in a phase is an error of the caller. */
export const TRANSITIONS: Readonly<Record<SessionPhase, Rows>> = {
  starting: {
    accepted: ["starting"],
    started: ["idle", "notify", "write"],
    failed: ["ended", "cancel", "forget"],
    agent_lost: ["starting"],
    annotated: ["starting"],
    titled: ["starting"],
    stopped: ["starting", "record"],
    released: ["starting", "cancel"],
    ended: END,
  },
  resuming: {
    accepted: ["resuming"],
    started: ["idle", "notify", "write"],
    failed: ["parked", "notify"],
    retained: ["idle"],
    turn_ended: ["resuming", "notify"],
    turn_recorded: ["resuming", "write_later"],
    agent_lost: ["resuming"],
    stopped: ["resuming", "record"],
    released: ["resuming", "cancel"],
    cut: ["interrupted"],
    annotated: ["resuming", "notify", "write"],
    titled: ["resuming", "notify", "write_with_next"],
    ended: END,
  },
  idle: {
    failed: ["parked", "notify"],
    resume: ["resuming"],
    prompted: ["running", "notify", "write_with_next"],
    turn_ended: ["idle", "notify"],
    turn_recorded: ["idle", "write_later"],
    agent_lost: ["parked", "notify"],
    stopped: ["idle", "record"],
    released: ["parked", "notify", "cancel"],
    cut: ["interrupted"],
    annotated: ["idle", "notify", "write"],
    titled: ["idle", "notify", "write_with_next"],
    ended: END,
  },
  running: {
    turn_ended: ["idle", "notify"],
    turn_recorded: ["running", "write_later"],
    agent_lost: ["parked", "notify"],
    stopped: ["running", "record"],
    released: ["parked", "notify", "cancel"],
    cut: ["interrupted"],
    annotated: ["running", "notify", "write"],
    titled: ["running", "notify", "write_with_next"],
    ended: END,
  },
  parked: {
    resume: ["resuming"],
    turn_ended: ["parked", "notify"],
    turn_recorded: ["parked", "write_later"],
    agent_lost: ["parked"],
    stopped: ["parked", "record"],
    released: ["parked", "cancel"],
    cut: ["interrupted"],
    recovered: ["parked", "notify", "write"],
    annotated: ["parked", "notify", "write"],
    titled: ["parked", "notify", "write_with_next"],
    ended: END,
  },
  interrupted: {
    started: ["interrupted"],
    failed: ["interrupted"],
    retained: ["interrupted"],
    turn_ended: ["interrupted"],
    turn_recorded: ["interrupted"],
    agent_lost: ["interrupted"],
    stopped: ["interrupted"],
    released: ["interrupted"],
    cut: ["interrupted"],
    recovered: ["parked", "notify", "write"],
    annotated: ["interrupted"],
    titled: ["interrupted"],
    ended: ["interrupted"],
  },
  ended: {
    started: ["ended"],
    failed: ["ended"],
    retained: ["ended"],
    turn_ended: ["ended"],
    turn_recorded: ["ended"],
    agent_lost: ["ended"],
    stopped: ["ended", "record"],
    released: ["ended"],
    cut: ["ended"],
    annotated: ["ended", "notify", "write"],
    titled: ["ended", "notify", "write_with_next"],
    ended: ["ended"],
    reopened: ["parked", "notify", "write"],
  },
};

/** A session as the state machine sees it. */
export interface SessionSnapshot {
  readonly phase: SessionPhase;
  readonly record: SessionRecord;
}

export interface SessionTransition extends SessionSnapshot {
  readonly effects: readonly SessionEffect[];
}

/** A session as it is found in the store: only a process that has it can be in any other phase. */
export function storedPhase({ ended, state }: Pick<SessionRecord, "ended" | "state">): SessionPhase {
  if (ended) return "ended";
  return state === "running" ? "interrupted" : "parked";
}

/** Applies an event to a session. Pure; throws for an event that its phase has no transition for. */
export function transition(
  { phase, record }: SessionSnapshot,
  event: SessionEvent,
  now: string,
): SessionTransition {
  const row = TRANSITIONS[phase][event.type];
  if (!row) throw new Error(`session ${record.id} is ${phase}, which has no transition for "${event.type}"`);
  const [to, ...effects] = row;
  const isFrozen = to === "interrupted" || (phase === "ended" && to === "ended" && effects.length === 0);
  return { phase: to, record: isFrozen ? record : changed(record, event, now), effects };
}

function changed(record: SessionRecord, event: SessionEvent, now: string): SessionRecord {
  const changes = changesOf(event, now);
  return changes ? stated({ ...record, ...changes }) : record;
}

/** What an event changes about a record; nothing for one that only moves the session to another phase. */
function changesOf(event: SessionEvent, last_activity: string): Partial<SessionRecord> | undefined {
  switch (event.type) {
    case "accepted":
      return { last_activity, ...event.changes };
    case "annotated":
    case "titled":
      return { last_activity, ...event.changes };
    case "prompted":
      return { last_activity, state: "running", turn_after: event.turn_after, homes: event.homes };
    case "turn_ended":
      return { last_activity, state: "idle", turn_after: undefined };
    case "recovered":
      return { state: "idle", turn_after: undefined, asked_after: event.asked_after };
    case "ended":
      return { last_activity, turn_after: undefined, ended: event.end };
    case "reopened":
      return {
        last_activity,
        state: "idle",
        ended: undefined,
        ...(event.mode !== undefined && { mode: event.mode }),
      };
    default:
      return undefined;
  }
}

/** A session that has ended is closed, and nothing else is. */
function stated(record: SessionRecord): SessionRecord {
  const state: SessionState = record.ended ? "closed" : record.state;
  return state === record.state ? record : { ...record, state };
}
